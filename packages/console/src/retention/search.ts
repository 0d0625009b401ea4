import { type MoveKind, type MoveState, moveKinds, moveStates } from '../api/values.ts';
import { textOf, withoutUndefined } from '../ui/hash-state.ts';

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
  /**
   * What the drawer shows. Only one of these is set: a tenant (`*` is the default policy), a move, or a verification.
   */
  open?: string;
  move?: string;
  verify?: string;
};

type Raw = Record<string, unknown>;

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
    ...drawerFields(drawerOf(search)),
  });
}

/** What a drawer shows: its kind, and the tenant or the id. */
export type DrawerPlace =
  | { readonly kind: 'tenant'; readonly id: string }
  | { readonly kind: 'move'; readonly id: string }
  | { readonly kind: 'verify'; readonly id: string };

const drawerNames = { tenant: 'open', move: 'move', verify: 'verify' } as const;

/** The drawer that a view state names. If a hash names several, the first counts. */
export function drawerOf(search: Raw | RetentionSearch): DrawerPlace | undefined {
  const raw: Raw = search;
  for (const kind of ['tenant', 'move', 'verify'] as const) {
    const id = textOf(raw[drawerNames[kind]]);
    if (id !== undefined) return { kind, id };
  }
  return undefined;
}

/** The fields of the hash that open this drawer and close any other. */
export function drawerFields(
  place: DrawerPlace | undefined,
): Record<'open' | 'move' | 'verify', string | undefined> {
  const none = { open: undefined, move: undefined, verify: undefined };
  return place === undefined ? none : { ...none, [drawerNames[place.kind]]: place.id };
}

/** The place of a drawer as one text, which can be compared and passed on; `parsePlaceText` reads it. */
export function placeText({ kind, id }: DrawerPlace): string {
  return `${kind}/${id}`;
}

/** Reads what `placeText` wrote. */
export function parsePlaceText(text: string): DrawerPlace {
  const slash = text.indexOf('/');
  const id = text.slice(slash + 1);
  if (text.startsWith('move/')) return { kind: 'move', id };
  return { kind: text.startsWith('verify/') ? 'verify' : 'tenant', id };
}

/** A link that opens a drawer over the view to which it belongs. */
export function drawerHref(place: DrawerPlace, filters = ''): string {
  const view = place.kind === 'move' ? 'view=journal&' : '';
  return `#/retention?${view}${filters}${drawerNames[place.kind]}=${encodeURIComponent(place.id)}`;
}
