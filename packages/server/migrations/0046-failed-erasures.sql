-- The previous release survives this migration: it does not read what an erasure that failed was about.

-- Event ids and subjects stayed in the journal when an erasure failed. Those that fail from now on forget them.
update moves set request = null where kind = 'erase' and state = 'failed' and request is not null;
