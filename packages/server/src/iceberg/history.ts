import type { CatalogueFile, ToldFile } from './queries.ts';

/** A segment and the time in which it was live, in microseconds since 1970; `died` is infinite while it is. */
export type LivedFile = CatalogueFile & { readonly born: number; readonly died: number };

/** What readers were last told of a tenant, and all segments that it has or had since the horizon. */
export type TenantHistory = {
  readonly tenant: string;
  readonly told: readonly Pick<ToldFile, 'id'>[];
  readonly files: readonly LivedFile[];
};

/** A snapshot to be made: what tenants have from a time on. */
export type Step = {
  readonly at: number;
  readonly changes: readonly { readonly tenant: string; readonly files: readonly LivedFile[] }[];
};

type Known = {
  /** The time of the look, and the first that a snapshot may have. */
  readonly moment: number;
  readonly since: number;
  /** What was switched up to then cannot be told apart. */
  readonly horizon: number;
  /** When the catalogue was last looked at; null when readers were told nothing yet. */
  readonly looked: number | null;
  /** So many switches are told one by one at most. */
  readonly most: number;
};

/**
 * Returns the snapshots that lead from what readers were told to what is live: one for each switch, and before them one
 * for all that cannot be told apart. None when there is nothing to tell.
 */
export function planSteps(tenants: readonly TenantHistory[], known: Known): Step[] {
  const { moment, since, horizon, looked, most } = known;
  const walks = tenants.map((each) => walkOf(each, known));
  const untold = walks
    .flatMap((walk) =>
      walk.times.slice(walk.from).map((at, n) => ({ at, walk, position: walk.from + n + 1 })),
    )
    .sort((a, b) => a.at - b.at || (a.walk.tenant < b.walk.tenant ? -1 : 1));
  const lumped = untold.slice(0, Math.max(0, untold.length - most));
  for (const { walk, position } of lumped) walk.from = position;
  const apart = untold
    .slice(lumped.length)
    .map(({ at, walk, position }) => ({
      at,
      changes: [{ tenant: walk.tenant, files: walk.filesAt(position) }],
    }));
  const changes = walks
    .map(({ tenant, told, from, filesAt }) => ({ tenant, told, files: filesAt(from) }))
    .filter(({ told, files }) => !isSame(told, files));
  const isFirst = looked === null && apart.length === 0;
  if (changes.length === 0 && !isFirst) return apart;
  // Of a change whose time nobody knows only this is sure: the catalogue says so now.
  const isKnown = untold.length > 0 || horizon > since;
  const at = isKnown ? Math.max(horizon, lumped.at(-1)?.at ?? 0) : moment;
  return [{ at, changes }, ...apart];
}

/** The states of a tenant after the horizon: the first at the horizon, the others from each of these times on. */
function walkOf({ tenant, told, files }: TenantHistory, { horizon, looked }: Known) {
  const switches = files.flatMap(({ born, died }) => [born, died]);
  const times = [...new Set(switches)]
    .filter((at) => at > horizon && at !== Number.POSITIVE_INFINITY)
    .sort((a, b) => a - b);
  const filesAt = (position: number) => {
    const at = times[position - 1] ?? horizon;
    return files.filter(({ born, died }) => born <= at && at < died);
  };
  return { tenant, told, times, filesAt, from: findTold({ told, times, filesAt }, looked) };
}

/**
 * Finds the state of a tenant that readers were told: the last that is the same. A switch that was not committed yet when
 * the catalogue was looked at may have an earlier time than the look, so that times alone do not tell. Where a tenant came
 * to the same state again, as by a move and a deletion, times do.
 */
function findTold(
  {
    told,
    times,
    filesAt,
  }: Pick<TenantHistory, 'told'> & {
    times: readonly number[];
    filesAt: (position: number) => readonly LivedFile[];
  },
  looked: number | null,
): number {
  if (looked === null) return 0;
  let found: number | undefined;
  for (let position = times.length; position >= 0; position--) {
    if (isSame(told, filesAt(position))) found = position;
    if (found !== undefined && (times[position - 1] ?? 0) <= looked) return found;
  }
  return found ?? times.filter((at) => at <= looked).length;
}

function isSame(a: readonly { readonly id: string }[], b: readonly { readonly id: string }[]) {
  const ids = new Set(a.map(({ id }) => id));
  return a.length === b.length && b.every(({ id }) => ids.has(id));
}
