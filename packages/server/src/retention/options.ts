import type { Audit } from '../platform/audit.ts';
import type { Log } from '../platform/log.ts';
import type { StoreFence } from '../platform/objects/fence.ts';
import type { StoreWatch } from '../platform/objects/store-watch.ts';

export type StoreTools = { readonly fence: StoreFence; readonly watch: StoreWatch };

/** What the routes of retention are given. */
export type RetentionOptions = {
  readonly cursorKey: () => Buffer;
  readonly audit: Audit;
  readonly log: Log;
  readonly store: StoreTools;
  /** A run or a verification was queued: has this process look for it now, if it has the role. */
  poke(): void;
};
