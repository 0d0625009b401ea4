// Types only: nothing of the server may end in the bundle (import-rules.mjs).
import type { Static } from 'typebox';
import type { csvRequestSchema } from '../../../server/src/contract.ts';

export type {
  Compression,
  DatasetName,
  ExportColumn,
  ExportFormat,
  ExportJob,
  ExportState,
  Manifest,
  Profile,
  SplitName,
  Version,
} from '../../../server/src/contract.ts';

/** The body of an export of any format, as its job keeps it. */
export type ExportRequest = Static<typeof csvRequestSchema>;
