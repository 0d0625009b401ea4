import type { UseQueryResult } from '@tanstack/react-query';
import { api } from '../api/client.ts';
import type { Page, Schedule } from '../api/types.ts';
import { scheduleFilters } from '../api/views.ts';
import { useAct } from '../ui/act.ts';
import { listParams } from '../ui/list-search.ts';
import { exportsKey, useRead } from '../ui/poll.tsx';
import { notify } from '../ui/toasts.tsx';
import type { ExportsSearch } from './search.ts';
import { followMillis } from './use-exports.ts';
import { hasRun } from './words.ts';

export function schedulePath(id: string): string {
  return `/exports/schedules/${encodeURIComponent(id)}`;
}

const isFollowed = (schedule: Schedule) => hasRun(schedule, Date.now());

/** Reads a page of schedules, and reads it often while a run is under way or due. */
export function useSchedules(search: ExportsSearch): UseQueryResult<Page<Schedule>> {
  const params = listParams(scheduleFilters, search);
  return useRead<Page<Schedule>>([...exportsKey, 'schedules', params], '/exports/schedules', {
    params,
    follow: [({ data }) => data.some(isFollowed), followMillis],
  });
}

/** Reads one schedule. */
export function useSchedule(id: string): UseQueryResult<Schedule> {
  return useRead<Schedule>([...exportsKey, 'schedule', id], schedulePath(id), {
    isOne: true,
    follow: [isFollowed, followMillis],
  });
}

/** Begins a run of a schedule now. */
export function useRunNow() {
  return useAct({
    call: ({ id }: Schedule) => api.post<Schedule>(`${schedulePath(id)}/run`, undefined),
    onDone: (_answer, { name }) => notify({ text: `A run of ${name} begins` }),
    failed: 'No run was begun',
    changes: exportsKey,
  });
}

/** Pauses a schedule, or has it go on. */
export function usePause() {
  return useAct({
    call: ({ id, state }: Schedule) =>
      api.patch<Schedule>(schedulePath(id), { enabled: state === 'paused' }),
    onDone: ({ state, name }) =>
      notify({ text: state === 'paused' ? `Paused ${name}` : `${name} goes on` }),
    failed: 'Not changed',
    changes: exportsKey,
  });
}
