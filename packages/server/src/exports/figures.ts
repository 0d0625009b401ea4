import { byState } from '../platform/metrics/figures.ts';
import { databaseFigures } from '../platform/postgres/figures.ts';
import { countOpenByState } from './jobs/queries.ts';

/** What export jobs tell in the metrics. */
export const exportFigures = databaseFigures({
  name: 'exports',
  gauges: {
    svcctl_export_jobs: { help: 'Export jobs that have not ended.', label: 'state' },
    svcctl_export_jobs_oldest_age_seconds: {
      help: 'How long ago the oldest of them was asked for.',
      label: 'state',
    },
  },
  async read(db) {
    const { counts, ages } = byState(['queued', 'running'], await countOpenByState(db));
    return { svcctl_export_jobs: counts, svcctl_export_jobs_oldest_age_seconds: ages };
  },
});
