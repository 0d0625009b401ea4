import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { flights } from './data.mjs';

/** Departures in the data set: US domestic flights, January to June 2001. */
export const flightCount = flights.count;

/**
 * This many flights are joined and sorted at a time. All of them at once took 2 GB, and half a minute before the first
 * record.
 */
const sliceRows = 25_000;

/**
 * What a pipeline would have found out, made up: how likely the flight was to be late, by a model that takes more and more
 * of them for late until the next one comes in April, and what people said of it, who are behind in June.
 */
const guess = `1 / (1 + exp((18 - flight.delay) / case when flight.date < '2001-04-01' then 22 else 9 end
  - case when flight.date < '2001-04-01' then 0.5 * (month(flight.date) - 1) else 0 end
  + 2 * (luck - 0.5)))`;
const labelled = `luck * 10 % 1 < case when flight.date < '2001-06-01' then 0.85 else 0.3 end`;
const madeUp = {
  record: `model: case when flight.date < '2001-04-01' then 'delay-1' else 'delay-2' end,
    confidence: round(0.5 + abs(${guess} - 0.5), 2),`,
  enrichment: `score: round(${guess}, 3),
      label: case when ${labelled} then
        case when flight.delay >= 15 then 'late' when flight.delay < 0 then 'early' else 'on time' end end,`,
};
const nothing = { record: '', enrichment: '' };

const recordSql = ({ from, to, step, ofTenants, more }) => `
  select to_json({
    tenant: origin.state,
    store: flight.origin,
    event_id: 'fl-' || lpad((flight.file_row_number + 1)::varchar, 7, '0'),
    occurred_at: strftime(flight.date, '%Y-%m-%dT%H:%M:%SZ'),
    kind: 'departure',
    "source": flight.destination,
    ${more.record}
    enrichment: {
      ${more.enrichment}
      delay: flight.delay,
      distance: flight.distance,
      origin: origin.airport,
      destination: destination.airport
    }
  })::varchar as line
  from (
    select *, hash(file_row_number) / 18446744073709551616 as luck
    from read_parquet('${flights.parquet}', file_row_number = true)
  ) flight
  join airports origin on origin.iata = flight.origin
  join airports destination on destination.iata = flight.destination
  where flight.file_row_number >= ${from} and flight.file_row_number < ${to}
    and flight.file_row_number % ${step} = 0 ${ofTenants}
  order by flight.file_row_number`;

const airportsSql = `
  create table airports as
  select iata, state, {iata: iata, name: name, city: city, state: state,
    latitude: latitude, longitude: longitude} as airport
  from read_csv('${flights.airports}')`;

/**
 * Yields real events as records for ingest, in NDJSON pieces of some hundred kilobytes, in order of time. Tenant is the
 * state of the origin, store is the origin airport, and the event is a departure. With `tenants` it yields only those of
 * the first `limit` flights that are theirs. With `isForShow` they carry made-up scores, labels and models, too, and the
 * `limit` flights are spread over the whole half-year: of its first hours alone there would be no month to compare.
 */
export async function* flightLines(limit = flightCount, tenants, isForShow = false) {
  const more = isForShow ? madeUp : nothing;
  const step = isForShow ? Math.max(1, Math.floor(flightCount / limit)) : 1;
  const end = limit * step;
  const ofTenants =
    tenants === undefined ? '' : `and origin.state in (${tenants.map((name) => `'${name}'`)})`;
  // DuckDB creates this folder only when it needs it. Without this setting it would spill into the current folder.
  const spillDir = join(tmpdir(), `svcctl-flights-${randomUUID()}`);
  const instance = await DuckDBInstance.create(':memory:', {
    threads: '1',
    memory_limit: '128MB',
    temp_directory: spillDir,
  });
  const connection = await instance.connect();
  try {
    await connection.run(airportsSql);
    for (let from = 0; from < end; from += sliceRows * step) {
      const to = Math.min(from + sliceRows * step, end);
      const result = await connection.stream(recordSql({ from, to, step, ofTenants, more }));
      for (;;) {
        const chunk = await result.fetchChunk();
        if (!chunk?.rowCount) break;
        const lines = chunk.getColumnValues(0);
        yield { count: lines.length, text: Buffer.from(`${lines.join('\n')}\n`) };
      }
    }
  } finally {
    connection.closeSync();
    instance.closeSync();
    await rm(spillDir, { recursive: true, force: true });
  }
}
