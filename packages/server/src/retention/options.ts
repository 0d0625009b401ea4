import type { Audit } from '../platform/audit.ts';
import type { Log } from '../platform/log.ts';
import type { StoreFence } from '../platform/objects/fence.ts';
import type { ObjectStore } from '../platform/objects/objects.ts';
import type { StoreWatch } from '../platform/objects/store-watch.ts';

/** What the routes about the store of cold data need. */
export type StoreTools = {
  readonly fence: StoreFence;
  readonly watch: StoreWatch;
  readonly store: ObjectStore;
};

/** What the retention routes need from the process that they run in. */
export type RetentionOptions = {
  readonly cursorKey: () => Buffer;
  readonly audit: Audit;
  readonly log: Log;
  readonly store: StoreTools;
  /** How long objects are kept that nothing refers to any more. */
  readonly graceSeconds: number;
  /** Tells the runner of this process, if it has that role, that a run or a verification was queued. */
  poke(): void;
};
