import { type Chosen, type DayFilters, type Filters, paramsOf } from '../api/views.ts';
import { dayOrTimePattern, dayPattern, daysParams } from './days.ts';
import { noneOf, textOf, withoutUndefined } from './hash-state.ts';
import { readPanel } from './panel-place.ts';

type Raw = Record<string, unknown>;

/** What the hash has of a list: its filters, the cursor of a page, and the panel beside it. */
export type ListSearch<F extends Filters> = Chosen<F> & { cursor?: string; panel?: string };

/** Reads the filters of a list from a hash. What cannot be understood is dropped, so that an old link still opens. */
function readFilters<F extends Filters>(search: Raw, filters: F): Chosen<F> {
  const read = Object.entries(filters).map(([name, { choices, isDay, isTime }]) => [
    name,
    choices === undefined
      ? textOf(search[name], isTime ? dayOrTimePattern : isDay ? dayPattern : undefined)
      : choices.find((choice) => choice === search[name]),
  ]);
  return withoutUndefined(Object.fromEntries(read));
}

/** Reads the whole view state of a list. `panels` and `older` are those of `readPanel`. */
export function readList<F extends Filters, Kind extends string>(
  search: Raw,
  filters: F,
  panels: readonly Kind[],
  older?: Readonly<Record<string, Kind>>,
): ListSearch<F> {
  return {
    ...readFilters(search, filters),
    ...withoutUndefined({ cursor: textOf(search.cursor), panel: readPanel(search, panels, older) }),
  };
}

export type Change = Readonly<Record<string, string | undefined>>;

/** A change of some filters, with what means nothing after it: the filters within these, and the cursor. */
export function changeOf(filters: Filters, change: Change): Change {
  const gone = Object.entries(filters).filter(([, { within = '' }]) => within in change);
  return { ...noneOf(Object.fromEntries(gone)), ...change };
}

/** The page of a list, as the API is asked for it. */
export function listParams<F extends Filters>(filters: F, search: ListSearch<F>, limit = 100) {
  return {
    ...paramsOf(filters, search),
    ...daysParams(search as ListSearch<DayFilters>),
    cursor: search.cursor,
    limit,
  };
}
