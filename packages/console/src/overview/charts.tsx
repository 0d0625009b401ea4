import { type ReactNode, useMemo } from 'react';
import type { Overview, RecordsOverview, WebhooksOverview } from '../api/types.ts';
import { BarChart } from '../ui/chart/bar-chart.tsx';
import { type Bar, type Series, SeriesLegend } from '../ui/chart/bar-picture.tsx';
import { backlogText, EndpointHealth, HoursChart, OkShare } from '../ui/endpoint.tsx';
import { formatCount, formatInstant, visibleText, type Zone } from '../ui/format.ts';
import { panelHref } from '../ui/panel-place.ts';
import { countOf } from '../ui/words.ts';
import { useZone } from '../ui/zone-switch.tsx';
import { HeatMap } from './heat-map.tsx';
import classes from './overview.module.css';

const [height, tallHeight] = [184, 316];

/** How it went lately, as pictures. */
export function Charts(props: { overview: Overview | undefined; isAdmin: boolean }): ReactNode {
  const { overview, isAdmin } = props;
  const records = overview?.records ?? null;
  const webhooks = overview?.webhooks ?? null;
  return (
    <div className={classes.charts}>
      {isAdmin && (
        <Card title="ENDPOINTS THAT NEED YOU" height={height}>
          {webhooks && <TroubledEndpoints webhooks={webhooks} />}
        </Card>
      )}
      {isAdmin && <DeliveriesPerHour webhooks={webhooks} />}
      <StoredPerDay records={records} />
      <Card title="STORED PER TENANT AND DAY, 4 WEEKS" height={tallHeight}>
        {records && <HeatMap of={records.by_tenant} />}
      </Card>
      <HotAndCold records={records} />
    </div>
  );
}

/** A picture with its title. It is as high before its data is there. */
function Card(props: {
  title: string;
  height: number;
  legend?: readonly Series[];
  children: ReactNode;
}): ReactNode {
  const { title, legend } = props;
  return (
    <section className={`line-under relative shrink ${classes.card}`} aria-label={title}>
      <div className={`row wrap between below-8 ${classes.cardHead}`}>
        <h2 className="figure-name">{title}</h2>
        {legend && <SeriesLegend series={legend} />}
      </div>
      <div style={{ minHeight: props.height }}>{props.children}</div>
    </section>
  );
}

function StoredPerDay({ records }: { records: RecordsOverview | null }): ReactNode {
  const bars = useMemo(
    () =>
      records &&
      barsOfDays(
        records.days.from,
        records.days.count.map((count) => [count]),
      ),
    [records],
  );
  const from = records?.counted_from ?? null;
  const isWhole = from !== null && from <= (records?.days.from ?? '');
  return (
    <Card title="RECORDS STORED PER DAY, 90 DAYS" height={tallHeight}>
      {bars && from === null && <p className="muted">Nothing was stored yet.</p>}
      {bars && from !== null && (
        <>
          <BarChart label="Records stored per day" bars={bars} height={tallHeight - 24} />
          <p className={classes.note}>{isWhole ? '' : `Counted since ${from}.`}</p>
        </>
      )}
    </Card>
  );
}

const outcomes: readonly Series[] = [
  { name: 'delivered', tone: 'ok' },
  { name: 'failed', tone: 'failed' },
  { name: 'abandoned', tone: 'abandoned' },
];
const sayAttempts = (count: number) => countOf(count, 'attempt');

function DeliveriesPerHour({ webhooks }: { webhooks: WebhooksOverview | null }): ReactNode {
  const [zone] = useZone();
  const bars = useMemo(() => webhooks && barsOfHours(webhooks.hours, zone), [webhooks, zone]);
  return (
    <Card title="DELIVERIES PER HOUR, 48 HOURS" height={height} legend={outcomes}>
      {bars?.every(isEmpty) && <p className="muted">Nothing was sent in 48 hours.</p>}
      {bars?.some(isFull) && (
        <BarChart
          label="Deliveries per hour"
          bars={bars}
          series={outcomes}
          say={sayAttempts}
          height={height}
        />
      )}
    </Card>
  );
}

const tiers: readonly Series[] = [
  { name: 'cold', tone: 'cold' },
  { name: 'hot', tone: 'hot' },
];

function HotAndCold({ records }: { records: RecordsOverview | null }): ReactNode {
  const bars = useMemo(() => records && barsOfTiers(records.days), [records]);
  return (
    <Card title="HOT AND COLD, 90 DAYS" height={height} legend={tiers.toReversed()}>
      {bars?.every(isEmpty) && <p className="muted">There are no records yet.</p>}
      {bars?.some(isFull) && (
        <BarChart label="Hot and cold records" bars={bars} series={tiers} height={height} />
      )}
    </Card>
  );
}

const isFull = ({ parts }: Bar) => parts.some((part) => part > 0);
const isEmpty = (bar: Bar) => !isFull(bar);

const [dayMillis, hourMillis] = [86_400_000, 3_600_000];

function barsOfDays(from: string, parts: readonly (readonly number[])[]): Bar[] {
  return parts.map((each, at) => ({
    name: new Date(Date.parse(from) + at * dayMillis).toISOString().slice(0, 10),
    parts: each,
  }));
}

/** The bars of hours, named by the time at which each begins. */
export function barsOfHours(hours: WebhooksOverview['hours'], zone: Zone): Bar[] {
  return hours.delivered.map((delivered, at) => {
    const start = new Date(Date.parse(hours.from) + at * hourMillis).toISOString();
    return {
      name: formatInstant(start, zone).slice(0, 16),
      parts: [delivered, hours.failed[at] ?? 0, hours.abandoned[at] ?? 0],
    };
  });
}

/** The bars of hot and cold. On a day at whose end nobody looked it was as on the day before, as far as is known. */
export function barsOfTiers({ from, hot_count, cold_count }: RecordsOverview['days']): Bar[] {
  let last: readonly number[] = [0, 0];
  const parts = hot_count.map((hot, at) => {
    const cold = cold_count[at] ?? null;
    if (hot !== null && cold !== null) last = [cold, hot];
    return last;
  });
  return barsOfDays(from, parts);
}

/** More than these stand on the page ENDPOINTS. */
const mostShown = 4;

/** The endpoints that fail or are gone, the worst first; each leads to its panel. */
export function TroubledEndpoints({ webhooks }: { webhooks: WebhooksOverview }): ReactNode {
  const { endpoints, failing, degraded, gone, disabled, held } = webhooks;
  const shown = endpoints.slice(0, mostShown);
  const more = failing + degraded + gone + disabled + held - shown.length;
  if (shown.length === 0) return <p className="muted">No endpoint fails.</p>;
  return (
    <>
      <ul className={classes.endpoints}>
        {shown.map((endpoint) => (
          <li key={endpoint.id}>
            <a
              className="hover"
              href={panelHref('/endpoints', { kind: 'endpoint', id: endpoint.id })}
            >
              <span className="cut">
                <EndpointHealth endpoint={endpoint} />
              </span>
              <span className={`cut ${classes.target}`} title={endpoint.url}>
                <strong>{visibleText(endpoint.tenant)}</strong>
                <span>{visibleText(endpoint.url.replace(/^https?:\/\//, ''))}</span>
              </span>
              <span className={`nowrap right ${classes.ok}`}>
                <OkShare hours={endpoint.hours} /> ok
              </span>
              <span className={classes.spark}>
                <HoursChart hours={endpoint.hours} />
              </span>
              <span className="nowrap right">{backlogText(endpoint.backlog)} wait</span>
            </a>
          </li>
        ))}
      </ul>
      {more > 0 && (
        <a className={classes.more} href="#/endpoints">
          and {formatCount(more)} more {countOf(more, 'endpoint').replace(/^\S+ /, '')}
        </a>
      )}
    </>
  );
}
