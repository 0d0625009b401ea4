import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';

const dataDir = fileURLToPath(new URL('../node_modules/vega-datasets/data', import.meta.url));

/** Departures in the data set: US domestic flights, January to June 2001. */
export const flightCount = 3_000_000;

const recordSql = (limit) => `
  select to_json({
    tenant: origin.state,
    store: flight.origin,
    event_id: 'fl-' || lpad(flight.number::varchar, 7, '0'),
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
  from (
    select *, row_number() over () as number
    from '${join(dataDir, 'flights-3m.parquet')}' limit ${limit}
  ) flight
  join airports origin on origin.iata = flight.origin
  join airports destination on destination.iata = flight.destination
  order by flight.number`;

const airportsSql = `
  create table airports as
  select iata, state, {iata: iata, name: name, city: city, state: state,
    latitude: latitude, longitude: longitude} as airport
  from read_csv('${join(dataDir, 'airports.csv')}')`;

/**
 * Real events as records for ingest: tenant = state of the origin, store = origin airport, event =
 * departure. Yields NDJSON in pieces of some hundred kilobytes, in order of time.
 */
export async function* flightLines(limit = flightCount) {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1', memory_limit: '2GB' });
  const connection = await instance.connect();
  try {
    await connection.run(airportsSql);
    const result = await connection.stream(recordSql(limit));
    for (;;) {
      const chunk = await result.fetchChunk();
      if (chunk === null || chunk.rowCount === 0) return;
      const lines = chunk.getColumnValues(0);
      yield { count: lines.length, text: Buffer.from(`${lines.join('\n')}\n`) };
    }
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
