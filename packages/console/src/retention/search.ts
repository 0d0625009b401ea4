import { type MoveKind, type MoveState, moveKinds, moveStates } from '../api/values.ts';
import { textOf, withoutUndefined } from '../ui/hash-state.ts';

// All view state of RETENTION, as it stands in the hash.

export type RetentionSearch = {
  view?: 'journal';
  /** Beginning of the tenants shown. */
  q?: string;
  /** Filters of the journal. */
  tenant?: string;
  kind?: MoveKind;
  state?: MoveState;
  run?: string;
  /** Of the list shown. */
  cursor?: string;
  /** In the drawer, one of these: a tenant (`*` = the default policy), a move, a verification. */
  open?: string;
  move?: string;
  verify?: string;
};

type Raw = Record<string, unknown>;

/** What of a hash can be understood; the rest is dropped, so that an old link still opens. */
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

/** What the drawer shows. */
export type DrawerPlace =
  | { readonly kind: 'tenant'; readonly id: string }
  | { readonly kind: 'move'; readonly id: string }
  | { readonly kind: 'verify'; readonly id: string };

const drawerNames = { tenant: 'open', move: 'move', verify: 'verify' } as const;

/** The drawer of a view state. Of several that a hash names, the first counts. */
export function drawerOf(search: Raw | RetentionSearch): DrawerPlace | undefined {
  const raw: Raw = search;
  for (const kind of ['tenant', 'move', 'verify'] as const) {
    const id = textOf(raw[drawerNames[kind]]);
    if (id !== undefined) return { kind, id };
  }
  return undefined;
}

/** The fields of the hash that make this drawer the only one. */
export function drawerFields(
  place: DrawerPlace | undefined,
): Record<'open' | 'move' | 'verify', string | undefined> {
  const none = { open: undefined, move: undefined, verify: undefined };
  return place === undefined ? none : { ...none, [drawerNames[place.kind]]: place.id };
}

/** One text for a place, so that it can be compared and passed on. */
export function placeText({ kind, id }: DrawerPlace): string {
  return `${kind}/${id}`;
}

export function parsePlaceText(text: string): DrawerPlace {
  const slash = text.indexOf('/');
  const id = text.slice(slash + 1);
  if (text.startsWith('move/')) return { kind: 'move', id };
  return { kind: text.startsWith('verify/') ? 'verify' : 'tenant', id };
}

/** A link to a drawer over the view it belongs to. */
export function drawerHref(place: DrawerPlace, filters = ''): string {
  const view = place.kind === 'move' ? 'view=journal&' : '';
  return `#/retention?${view}${filters}${drawerNames[place.kind]}=${encodeURIComponent(place.id)}`;
}
