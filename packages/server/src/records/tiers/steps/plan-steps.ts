import type { Queryable } from '../../../platform/postgres/database.ts';
import type { StoreDay } from '../../segments/segment.ts';
import type { Slice } from '../../slice.ts';
import { type CutOptions, StepCutter, usualCut } from './cut-steps.ts';
import { listIslands } from './queries.ts';
import type { Step } from './step.ts';

/** The steps of a slice, read in pages from the snapshot that `db` stands in. */
export type StepPlan = {
  /** The next of the steps that are read. */
  take(): Step | undefined;
  /** Reads a page more, if memory lets it; until there is a step to take or all is read. */
  readAhead(): Promise<void>;
  readonly isComplete: boolean;
  /** Hot or mixed steps that are read and not taken yet. */
  readonly hotStepsLeft: number;
};

/** The first page is small, so that the first byte comes soon. */
const firstDays = 1_000;
const pageDays = 20_000;
/** So many runs are held; with a segment a day and 10,000 stores there are 3,650,000 of a year. */
const heldRuns = 60_000;

/** Cuts a slice of one tenant into steps; the first page of them is read when it returns. */
export async function planSteps(
  db: Queryable,
  slice: Slice,
  options: CutOptions = usualCut,
): Promise<StepPlan> {
  const cutter = new StepCutter(options);
  const steps: Step[] = [];
  let after: StoreDay | null = null;
  let isComplete = false;
  let hotStepsLeft = 0;
  let held = 0;

  const count = (step: Step, sign: 1 | -1) => {
    if (step.hotCount > 0) hotStepsLeft += sign;
    held += sign * step.chunks.reduce((sum, { runs }) => sum + runs.length, 1);
  };
  const keep = (made: readonly Step[]) => {
    for (const step of made) {
      count(step, 1);
      steps.push(step);
    }
  };
  const readPage = async () => {
    const limit = after === null ? firstDays : pageDays;
    const islands = await listIslands(db, slice, { after, limit });
    for (const island of islands) keep(cutter.add(island));
    const last = islands.at(-1);
    if (last !== undefined) after = { store: last.last_store, day: last.last_day };
    if (countDays(islands) === limit) return;
    isComplete = true;
    keep(cutter.end());
  };

  await readPage();
  return {
    take() {
      const step = steps.shift();
      if (step !== undefined) count(step, -1);
      return step;
    },
    async readAhead() {
      if (isComplete || held >= heldRuns) return;
      do await readPage();
      while (!isComplete && steps.length === 0);
    },
    get isComplete() {
      return isComplete;
    },
    get hotStepsLeft() {
      return hotStepsLeft;
    },
  };
}

/** Distinct store-days: a day in several segments has an island for each. */
function countDays(islands: Awaited<ReturnType<typeof listIslands>>): number {
  let days = 0;
  let before: StoreDay | null = null;
  for (const island of islands) {
    const { first_store: store, first_day: day } = island;
    if (before === null || before.store !== store || before.day !== day) days += island.days;
    before = { store, day };
  }
  return days;
}
