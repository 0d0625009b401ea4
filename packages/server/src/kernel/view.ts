// How lists are filtered, for the command line, which makes options of it, and for the console, which makes fields of it
// and what its hash has.

/** A filter of a list. Its name is that of the option and of the field in the hash. */
export type Filter = {
  /** Its parameter in the API, where that has another name. */
  readonly param?: string;
  /** The words that its value may be; without them it may be any text, or a day. */
  readonly choices?: readonly string[];
  readonly isDay?: true;
  /** A day, or a time of day as well. */
  readonly isTime?: true;
  /** The filter without which this one means nothing: it goes when that one changes. */
  readonly within?: string;
  /** What the help of its option says; without it there is none. */
  readonly help?: string;
  /** What that help calls the value, unless that is the name of the filter. */
  readonly value?: string;
  /** What the console calls the filter, unless that is its name. */
  readonly title?: string;
  /** What the field of the console says to those who do not see it, unless that is `Store, exactly`. */
  readonly label?: string;
  /** People set it so often that its field always stands above the list; the others come with MORE FILTERS. */
  readonly isUsual?: true;
  /** Only links set it: the console says that it is in force, and has no field for it. */
  readonly isLinked?: true;
};

export type Filters = Readonly<Record<string, Filter>>;

/** The filters that somebody has set. */
export type Chosen<F extends Filters> = {
  -readonly [Name in keyof F]?: F[Name] extends { choices: readonly (infer Word)[] }
    ? Word
    : string;
};

export const tenantFilter = { help: 'only of this tenant', isUsual: true } as const;

/** The first and the last day of what is listed. */
export function dayFilters(help: string) {
  return {
    from: { isDay: true, value: 'date', help },
    to: { isDay: true, value: 'date', help: 'up to this day, inclusive' },
  } as const;
}

/** The first and the last moment of what is listed: a day, or a time. */
export function timeFilters(help: string) {
  return {
    from: { isDay: true, isTime: true, value: 'time', help },
    to: { isDay: true, isTime: true, value: 'time', help: 'up to this day or time, inclusive' },
  } as const;
}

export type DayFilters = ReturnType<typeof dayFilters>;

/** What the API is asked for when these filters are set. */
export function paramsOf<F extends Filters>(
  filters: F,
  chosen: Chosen<F>,
): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(filters).map(([name, { param = name }]) => [
      param,
      chosen[name] as string | undefined,
    ]),
  );
}
