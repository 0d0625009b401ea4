/**
 * The shape of the made-up world: tenants with two stores each, sixty months from 2021 on, and records on two days of
 * each month. The first tenant has ten times as many records as any other, so that it is worth exporting. A segment
 * holds a tenant's year.
 */
const firstYear = 2021;
export const years = 5;
const stores = 2;
const months = 12;
const daysOfMonth = 2;
const daysOfYear = months * daysOfMonth;
/** The days of a segment and of a tenant, those of each store counted by themselves. */
export const daysOfSegment = stores * daysOfYear;
const daysOfTenant = years * daysOfSegment;
const firstIsLarger = 10;

/** How many tenants have this many records in all. */
export function tenantsFor(records, perDay) {
  const ofTenant = daysOfTenant * perDay;
  return Math.max(2, 1 + Math.round(records / ofTenant - firstIsLarger));
}

export function recordsOf(tenants, perDay) {
  return (tenants - 1 + firstIsLarger) * daysOfTenant * perDay;
}

/** How many records a store's day has. */
export function perDayOf(tenant, perDay) {
  return tenant === 0 ? perDay * firstIsLarger : perDay;
}

export function tenantName(tenant) {
  return `tenant-${String(tenant).padStart(5, '0')}`;
}

/** The first and the last day of a tenant's year. */
export function spanOf(tenant, year) {
  const day = 1 + (tenant % 14);
  const text = (month, offset) =>
    `${firstYear + year}-${month}-${String(day + offset).padStart(2, '0')}`;
  return [text('01', 0), text('12', 14)];
}

/**
 * The records of some tenants as DuckDB SQL, in the order in which they stand in their segments, with the columns of a
 * segment, `tenant_number`, `year_number`, and the row in the segment.
 */
export function recordsSql({ first, end, perDay }) {
  const perTenant = daysOfTenant * perDay;
  const stepMicros = Math.floor(86_400_000_000 / perDay);
  return `
    with numbered as (
      select i, (hash(i + ${first * daysOfTenant * 1_000_000}) >> 1)::bigint as h, ${first} + i // ${perTenant} as t,
        i // ${perTenant / years} % ${years} as y, i % ${perTenant / years} as row_number,
        i // ${daysOfYear * perDay} % ${stores} as s, i // ${daysOfMonth * perDay} % ${months} as m,
        i // ${perDay} % ${daysOfMonth} as d, i % ${perDay} as k
      from range(${(end - first) * perTenant}) r(i)
    ), made as (
      select t as tenant_number, y as year_number, row_number,
        'tenant-' || lpad(t::varchar, 5, '0') as tenant, 'store-' || (s + 1) as store,
        make_timestamptz(epoch_us(make_date(${firstYear} + y, m + 1, 1 + t % 14 + d * 14)::timestamp)
          + k * ${stepMicros} + h % 1000) as occurred_at,
        'evt-' || lpad(lower(hex(h)), 16, '0') as event_id,
        ['intrusion', 'loitering', 'tailgating', 'camera_fault'][1 + h % 4] as kind,
        'camera-' || (h >> 4) % 40 as source, 'detector-v' || (y + 1) as model,
        '0.' || lpad(((h >> 12) % 100)::varchar, 2, '0') as confidence,
        '{"score":' || (h >> 20) % 1000 || ',"zone":"' || ['dock', 'gate', 'hall', 'roof'][1 + (h >> 30) % 4]
          || '","track":' || (h >> 32) % 1000000 || '}' as enrichment
      from numbered
    )
    select *, occurred_at + interval 2 seconds as recorded_at,
      (${lineLength} + strlen(tenant) + strlen(store) + strlen(event_id) + strlen(kind) + strlen(source)
        + strlen(model) + strlen(confidence) + strlen(enrichment))::integer as bytes
    from made`;
}

/** What an NDJSON line has besides the values of differing length. */
const lineLength =
  JSON.stringify({
    tenant: '',
    store: '',
    event_id: '',
    occurred_at: '2021-01-01T00:00:00.000000Z',
    kind: '',
    source: '',
    model: '',
    confidence: 0,
    enrichment: 0,
  }).length - 2;
