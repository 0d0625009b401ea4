import { join } from 'node:path';
import { mergeSegments, replaceSegments, sumByDay } from '../../records/index.ts';
import { fetchSegment } from './fetch-segment.ts';
import type { KindSteps } from './kinds.ts';
import { listDaysOfSegments } from './queries.ts';

/** Several small segments become one. */
export const compactKind: KindSteps = {
  async copy(context, work) {
    const { move, out, dir, signal } = work;
    const [segment] = out;
    if (segment === undefined) throw new Error(`the move ${move.id} has no segment to write`);
    const ids = work.in.map(({ segment_id }) => segment_id);
    const days = [...sumByDay(await listDaysOfSegments(context.db, move.tenant, ids)).values()];
    const paths: string[] = [];
    for (const source of work.in) paths.push(await fetchSegment(context, source, { dir, signal }));
    const path = join(dir, `${segment.segment_id}.parquet`);
    await mergeSegments(context.duckdb, { paths, days, target: path, signal });
    return { files: [{ segment_id: segment.segment_id, path }], days };
  },

  switch(connection, { work, segments }) {
    const remove = work.in.map(({ segment_id }) => segment_id);
    return replaceSegments(connection, { tenant: work.move.tenant, add: segments, remove });
  },

  refuse: async () => null,
};
