import { AppError } from '../../kernel/errors.ts';
import {
  ObjectMissing,
  type ObjectReader,
  type OpenObject,
} from '../../platform/objects/objects.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { openSegment } from '../read/open-segments.ts';
import type { Segment } from '../read/queries.ts';
import { listSliceSegments } from '../read/sum-segments.ts';
import { isLiveSegment } from '../segments/queries.ts';
import type { StoreDay } from '../segments/segment.ts';
import type { Slice } from '../slice/slice.ts';
import { type CutOptions, type Step, StepCutter, usualCut } from './cut-steps.ts';
import { listIslands } from './queries.ts';

/** The steps of a slice. They are read in pages from the snapshot of `db`. */
type StepPlan = {
  /** Returns the next of the steps that were read; undefined when there is none. */
  take(): Step | undefined;
  /** Reads a page, unless many runs are held, and on until there is a step to take or nothing more. */
  readAhead(): Promise<void>;
  readonly isComplete: boolean;
  /** How many hot or mixed steps have been read and not yet been taken. */
  readonly hotStepsLeft: number;
};

/** The first page is small, so that the first byte is sent soon. */
const firstDays = 1_000;
const pageDays = 20_000;
/** About this many runs are held in memory: with a segment a day, 10,000 stores have 3,650,000 in a year. */
const heldRuns = 60_000;

/** Cuts a slice of one tenant into steps. When it returns, the first page of them has been read. */
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
    if (last !== undefined) after = last.range.last;
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

/** Counts the distinct store-days. A day that lies in several segments has an island for each of them. */
function countDays(islands: Awaited<ReturnType<typeof listIslands>>): number {
  let days = 0;
  let before: StoreDay | null = null;
  for (const { range, days: own } of islands) {
    const { store, day } = range.first;
    if (before?.store !== store || before.day !== day) days += own;
    before = range.first;
  }
  return days;
}

/** The segments of a slice as local files. Each is read and checked once, and held until the end. */
export type OpenSegments = {
  /** Returns the local path of a segment. Throws 500 `segment_damaged` or 503 `cold_tier_unavailable`. */
  path(segmentId: string): Promise<string>;
  /** Releases all files. Call it when nobody reads them any more. */
  release(): Promise<void>;
};

type OpenOptions = {
  objects: ObjectReader;
  /** Says what the catalogue holds now, when an object of the snapshot is gone. */
  db: Queryable;
  signal: AbortSignal;
};

/** This much is checked before the first byte is sent, which takes 0.2 s; the rest is checked when it is needed. */
const checkedAheadBytes = 256 * 1024 * 1024;

/** Opens the first of the slice's segments. Throws 500 `segment_damaged`, 503 `cold_tier_unavailable`. */
export async function openSegments(
  snapshot: Queryable,
  slice: Slice,
  options: OpenOptions,
): Promise<OpenSegments> {
  const rows = await listSliceSegments(snapshot, slice);
  rows.sort((a, b) => (a.first_day < b.first_day ? -1 : 1));
  const byId = new Map(rows.map((row) => [row.segment_id, row]));
  const opened = new Map<string, Promise<OpenObject>>();
  const open = (row: Segment) => {
    const known = opened.get(row.segment_id) ?? openAnew(row, options);
    opened.set(row.segment_id, known);
    return known;
  };
  const segments: OpenSegments = {
    async path(segmentId) {
      const row = byId.get(segmentId);
      if (row === undefined) throw new Error(`${segmentId} is not in the catalogue of segments`);
      return (await open(row)).path;
    },
    async release() {
      for (const result of await Promise.allSettled(opened.values())) {
        if (result.status === 'fulfilled') await result.value.release();
      }
      opened.clear();
    },
  };
  try {
    let ahead = 0;
    for (const row of rows) {
      ahead += row.size_bytes;
      if (ahead > checkedAheadBytes) break;
      await open(row);
    }
  } catch (error) {
    await segments.release();
    throw error;
  }
  return segments;
}

async function openAnew(
  segment: Segment,
  { objects, db, signal }: OpenOptions,
): Promise<OpenObject> {
  return openSegment(objects, segment, { anew: true, signal }).catch(async (error: unknown) => {
    const { tenant, segment_id: id } = segment;
    const isMissing = error instanceof AppError && error.cause instanceof ObjectMissing;
    if (!isMissing || (await isLiveSegment(db, { tenant, id }))) throw error;
    throw new AppError('cold_tier_unavailable', {
      detail: `Cold data of ${tenant} was rewritten since this read began, and the old object is gone. Try again.`,
      retryAfterSeconds: 1,
      cause: error.cause,
    });
  });
}
