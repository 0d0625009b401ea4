import { Gauge, type Registry } from 'prom-client';
import { keepFor } from '../../kernel/once.ts';

/** What one gauge tells: a number, one for each value of its label, or each with all its labels. Null leaves it out. */
export type Figure = number | Readonly<Record<string, number>> | Labelled[] | null;
export type Labelled = {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
};

/** A gauge by its name. `otherwise` is what it tells when its source cannot be read; by default it is left out. */
type GaugeRow = {
  readonly help: string;
  readonly label?: string | readonly string[];
  readonly otherwise?: number;
};

type Figures<Name extends string = string> = Readonly<Record<Name, Figure>>;

/** Gauges that are read together, each time somebody asks for the metrics. */
export type FigureSource<Name extends string = string> = {
  /** Names the source as a value of the label of `svcctl_figures_up`. */
  readonly name: string;
  readonly gauges: Readonly<Record<Name, GaugeRow>>;
  readonly read: () => Promise<Figures<Name>>;
};

type Keeping = {
  /** For so long what was read is told again: several servers may ask, and often. */
  readonly keepMillis: number;
  /** A source that takes longer is left out, so that a database that hangs makes nobody wait. */
  readonly limitMillis: number;
  /** Is told of the first failure of a source after it could be read. */
  readonly onFailure: (source: string, error: unknown) => void;
};

/** Registers the gauges of these sources. */
export function addFigures(
  registry: Registry,
  sources: readonly FigureSource[],
  keeping: Keeping,
): void {
  const up: Record<string, () => Promise<unknown>> = {};
  for (const source of sources) {
    const read = readKept(source, keeping);
    up[source.name] = read;
    for (const [name, { help, label, otherwise }] of Object.entries(source.gauges)) {
      new Gauge({
        name,
        help,
        registers: [registry],
        ...(label === undefined ? {} : { labelNames: [label].flat() }),
        async collect() {
          const figure = await read().then(
            (figures) => figures[name] ?? null,
            () => otherwise ?? null,
          );
          tell(this, figure, label);
        },
      });
    }
  }
  new Gauge({
    name: 'svcctl_figures_up',
    help: 'Whether the metrics of a source could be read; those of one that could not are absent.',
    labelNames: ['source'],
    registers: [registry],
    async collect() {
      const isUp = (read: () => Promise<unknown>) => read().then(Boolean, () => false);
      const states = Object.entries(up).map(async ([source, read]) => ({
        source,
        value: Number(await isUp(read)),
      }));
      for (const { source, value } of await Promise.all(states)) this.set({ source }, value);
    },
  });
}

/** An old number would hide that nothing is known now, so the series that are not told are removed. */
function tell(gauge: Gauge, figure: Figure, label: GaugeRow['label']): void {
  // Without a label it sets the only series to 0.
  gauge.reset();
  if (typeof figure === 'number') gauge.set(figure);
  else if (label === undefined) gauge.remove();
  else if (Array.isArray(figure)) {
    for (const { labels, value } of figure) gauge.set({ ...labels }, value);
  } else {
    for (const [value, number] of Object.entries(figure ?? {}))
      gauge.set({ [String(label)]: value }, number);
  }
}

/** Returns what reads a source, and tells of its first failure after it could be read. */
function readKept(
  { name, read }: FigureSource,
  { keepMillis, limitMillis, onFailure }: Keeping,
): () => Promise<Figures> {
  let isFailing = false;
  const readNow = async () => {
    const figures = await read();
    isFailing = false;
    return figures;
  };
  const late = () => {
    throw new Error('the figures took too long');
  };
  const readOrJoin = keepFor(readNow, { keepMillis, limitMillis, late });
  return () =>
    readOrJoin().catch((error: unknown) => {
      if (!isFailing) onFailure(name, error);
      isFailing = true;
      throw error;
    });
}

/** How many there are in a state, and how long the oldest of them has been there. */
export type StateRow = { state: string; count: number; age_seconds: number };

/** The counts and the ages of all states: one in which there is nothing has 0, so that its series never ends. */
export function byState(
  states: readonly string[],
  rows: readonly StateRow[],
): { counts: Record<string, number>; ages: Record<string, number> } {
  const pick = (what: 'count' | 'age_seconds') =>
    Object.fromEntries(
      states.map((state) => [state, rows.find((row) => row.state === state)?.[what] ?? 0]),
    );
  return { counts: pick('count'), ages: pick('age_seconds') };
}
