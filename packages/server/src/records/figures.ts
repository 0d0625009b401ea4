import { workStates } from '../kernel/values.ts';
import { byState } from '../platform/metrics/figures.ts';
import { databaseFigures } from '../platform/postgres/figures.ts';
import { countOpenByState } from './counts/queries.ts';
import { sumTenants } from './stored/queries.ts';
import { countCounting } from './versions/queries.ts';

/** What records and dataset versions tell in the metrics: sums of one counter for each tenant. */
export const recordFigures = databaseFigures({
  name: 'records',
  gauges: {
    svcctl_tenants: { help: 'Tenants that have records.' },
    svcctl_records: { help: 'Records, by the tier in which they lie.', label: 'tier' },
    svcctl_records_bytes: { help: 'Their sizes as they were sent.', label: 'tier' },
    svcctl_cold_stored_bytes: { help: 'What the records of the cold tier take in the store.' },
    svcctl_versions_counting: { help: 'Dataset versions that are being counted, or wait for it.' },
    svcctl_versions_counting_oldest_age_seconds: {
      help: 'How long ago the oldest of them was frozen.',
    },
    svcctl_record_counts: { help: 'Counts of records that have not ended.', label: 'state' },
    svcctl_record_counts_oldest_age_seconds: {
      help: 'How long ago the oldest of them was asked for.',
      label: 'state',
    },
  },
  async read(db) {
    const sums = await sumTenants(db, null);
    const counting = await countCounting(db);
    const { counts, ages } = byState(workStates, await countOpenByState(db));
    return {
      svcctl_tenants: sums.tenants,
      svcctl_records: { hot: sums.count - sums.cold_count, cold: sums.cold_count },
      svcctl_records_bytes: { hot: sums.bytes - sums.cold_bytes, cold: sums.cold_bytes },
      svcctl_cold_stored_bytes: sums.cold_stored_bytes,
      svcctl_versions_counting: counting.count,
      svcctl_versions_counting_oldest_age_seconds: counting.age_seconds,
      svcctl_record_counts: counts,
      svcctl_record_counts_oldest_age_seconds: ages,
    };
  },
});
