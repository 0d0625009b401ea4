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

const recordSql = (from, to, ofTenants) => `
  select to_json({
    tenant: origin.state,
    store: flight.origin,
    event_id: 'fl-' || lpad((flight.file_row_number + 1)::varchar, 7, '0'),
    occurred_at: strftime(flight.date, '%Y-%m-%dT%H:%M:%SZ'),
    kind: 'departure',
    "source": flight.destination,
    enrichment: {
      delay: flight.delay,
      distance: flight.distance,
      origin: origin.airport,
      destination: destination.airport
    }
  })::varchar as line
  from read_parquet('${flights.parquet}', file_row_number = true) flight
  join airports origin on origin.iata = flight.origin
  join airports destination on destination.iata = flight.destination
  where flight.file_row_number >= ${from} and flight.file_row_number < ${to} ${ofTenants}
  order by flight.file_row_number`;

const airportsSql = `
  create table airports as
  select iata, state, {iata: iata, name: name, city: city, state: state,
    latitude: latitude, longitude: longitude} as airport
  from read_csv('${flights.airports}')`;

/**
 * Yields real events as records for ingest, in NDJSON pieces of some hundred kilobytes, in order of time. Tenant is the
 * state of the origin, store is the origin airport, and the event is a departure. With `tenants` it yields only those of
 * the first `limit` flights that are theirs.
 */
export async function* flightLines(limit = flightCount, tenants) {
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
    for (let from = 0; from < limit; from += sliceRows) {
      const result = await connection.stream(
        recordSql(from, Math.min(from + sliceRows, limit), ofTenants),
      );
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
