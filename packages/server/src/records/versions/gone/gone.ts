import type { StoreDay } from '../../segments/segment.ts';
import type { DayWindow } from '../../slice.ts';

/** Records that left for good: erased on request, or deleted by policy. */
export type Gone = {
  readonly tenant: string;
  readonly kind: 'erase' | 'delete';
  /** Each store's days that lost records. */
  readonly days: readonly StoreDay[];
  /** Whole days of a store, or of all, that keep no record at all; null: only certain records went. */
  readonly window: DayWindow | null;
};

/** What else went or changed with them. */
export type GoneEffects = {
  readonly tagsRemoved: number;
  readonly versionsChanged: number;
  readonly exportsRemoved: number;
};
