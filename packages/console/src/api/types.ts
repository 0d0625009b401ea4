// Types only: nothing of the server may end in the bundle (import-rules.mjs).
import type { Static } from 'typebox';
import type {
  actorSchema,
  csvRequestSchema,
  recordSchema,
  tokenSchema,
} from '../../../server/src/contract.ts';

export type {
  CsvRequest,
  DatasetName,
  DatasetRow,
  ExportColumn,
  Level,
  Profile,
} from '../../../server/src/contract.ts';

/** Who is signed in; `tenants` null = all, `expires_at` null = never. */
export type Actor = Static<typeof actorSchema>;
export type Scope = Actor['scopes'][number];
export type AccessToken = Static<typeof tokenSchema>;
export type EnrichmentRecord = Static<typeof recordSchema>;
export type CsvExportRequest = Static<typeof csvRequestSchema>;

/** A page of a list of the API. */
export type Page<T> = { data: T[]; next_cursor: string | null; prev_cursor?: string | null };

/** One fault of the input: where (`?limit`, `/tenant`), a stable code, a sentence. */
export type InputFault = { path: string; code: string; message: string };
