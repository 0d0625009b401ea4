-- The previous release survives this migration: it reads moves as before.

-- Imports of whole days are moves, and few of them. The list of all jobs pages through them by this index.
create index moves_imports_idx on moves (planned_at, id) where kind = 'import';
