import { type MoveKind, type MoveState, moveKinds, moveStates } from '../api/values.ts';
import { textOf, withoutUndefined } from '../ui/hash-state.ts';
import { panelHref, readPanel } from '../ui/panel-place.ts';

// The view state of the page RETENTION, as the hash has it.

export type RetentionSearch = {
  view?: 'journal';
  /** Filter of the tenants: how their names begin. */
  q?: string;
  /** Filters of the journal. */
  tenant?: string;
  kind?: MoveKind;
  state?: MoveState;
  run?: string;
  /** The cursor of the list that is shown. */
  cursor?: string;
  panel?: string;
};

type Raw = Record<string, unknown>;

const older = { open: 'tenant', move: 'move', verify: 'verification' } as const;

/** Reads the view state from a hash. What it cannot understand is dropped, so that an old link still opens. */
export function validateRetentionSearch(search: Raw): RetentionSearch {
  return withoutUndefined({
    view: search.view === 'journal' ? 'journal' : undefined,
    q: textOf(search.q),
    tenant: textOf(search.tenant),
    kind: moveKinds.find((kind) => kind === search.kind),
    state: moveStates.find((state) => state === search.state),
    run: textOf(search.run),
    cursor: textOf(search.cursor),
    panel: readPanel(search, retentionPanels, older),
  });
}

/**
 * The panels of the page: a tenant by its name (`*` is the default policy), a move, a verification, and the question
 * before a run, of one tenant or of all.
 */
export const retentionPanels = ['tenant', 'move', 'verification', 'run'] as const;
export type RetentionPanel = (typeof retentionPanels)[number];

/** A link that opens a panel beside the list to which it belongs. */
export function retentionHref(kind: RetentionPanel, id: string): string {
  return panelHref('/retention', { kind, id }, { view: kind === 'move' ? 'journal' : undefined });
}
