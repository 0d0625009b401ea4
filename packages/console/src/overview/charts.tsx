import { Fragment, type ReactNode, useMemo } from 'react';
import type { Endpoint, Overview, RecordsOverview, WebhooksOverview } from '../api/types.ts';
import type { Bar, Series } from '../ui/chart/bar-picture.tsx';
import {
  attemptSeries,
  Bars,
  barsOfHours,
  dayOf,
  sayAttempts,
} from '../ui/chart/delivery-hours.ts';
import { dayAfter, dayMillis } from '../ui/days.ts';
import {
  backlogText,
  EndpointHealth,
  HoursChart,
  OkShare,
  shownTarget,
  Target,
} from '../ui/endpoint.tsx';
import { formatCount, visibleText, type Zone } from '../ui/format.ts';
import { stringifySearch } from '../ui/hash-state.ts';
import { lazyPiece } from '../ui/lazy-part.tsx';
import { CutText, Moment } from '../ui/marks.tsx';
import { panelHref } from '../ui/panel-place.ts';
import { countOf } from '../ui/words.ts';
import { useZone } from '../ui/zone-switch.tsx';
import classes from './overview.module.css';
import { storedHref } from './words.ts';

const height = 204;
const needTitle = 'ENDPOINTS THAT NEED YOU';

const HeatMap = lazyPiece('HeatMap', () => import('./heat-map.tsx'));

/** How it went lately, as pictures. What has no more than two bars is told in a line below them. */
export function Charts(props: { overview: Overview | undefined; isAdmin: boolean }): ReactNode {
  const { overview, isAdmin } = props;
  const [zone] = useZone();
  const records = overview?.records ?? null;
  const webhooks = overview?.webhooks ?? null;
  const all = useMemo(
    () => chartsOf({ records, webhooks, isAdmin, zone }),
    [records, webhooks, isAdmin, zone],
  );
  const lines = all.filter(({ bars }) => bars !== null && !isWorthAChart(bars));
  const isHeatLine = records !== null && !isWorthAChart(daysOfHeat(records));
  return (
    <>
      <div className={`grid flex-none ${classes.charts}`}>
        {isAdmin && (
          <section className={`line-under relative shrink ${classes.card}`} aria-label={needTitle}>
            <h2 className="figure-name below-8">{needTitle}</h2>
            {webhooks && <TroubledEndpoints webhooks={webhooks} />}
          </section>
        )}
        {all
          .filter((chart) => !lines.includes(chart))
          .map(({ title, label, bars, series, note, hrefOf, say }) => (
            <Card key={title} title={title}>
              {bars !== null && (
                <Bars
                  label={label}
                  bars={bars}
                  height={height - 40}
                  {...(series && { series })}
                  {...(say && { say })}
                  onOpen={(name) => {
                    window.location.hash = hrefOf(name);
                  }}
                />
              )}
              <p className="cut muted small">{note}</p>
            </Card>
          ))}
        {!isHeatLine && (
          <Card title="STORED PER TENANT AND DAY, 4 WEEKS">
            {records && <HeatMap of={records.by_tenant} />}
          </Card>
        )}
      </div>
      {(lines.length > 0 || isHeatLine) && (
        <dl className={`line-under grid flex-none ${classes.lines}`}>
          {lines.map(({ title, bars, series, hrefOf, say = sayRecords }) => (
            <Fragment key={title}>
              <dt className="figure-name">{title}</dt>
              <dd>{lineOf({ bars: bars ?? [], series, hrefOf, say })}</dd>
            </Fragment>
          ))}
          {isHeatLine && (
            <>
              <dt className="figure-name">STORED PER TENANT, 4 WEEKS</dt>
              <dd>{tenantsLine(records.by_tenant.tenants)}</dd>
            </>
          )}
        </dl>
      )}
    </>
  );
}

/** A picture with its title. It is as high before its data and its script are there. */
function Card({ title, children }: { title: string; children: ReactNode }): ReactNode {
  return (
    <section className={`line-under relative shrink ${classes.card}`} aria-label={title}>
      <h2 className={`figure-name below-8 ${classes.cardHead}`}>{title}</h2>
      <div style={{ minHeight: height }}>{children}</div>
    </section>
  );
}

/** One chart: a bar leads to the list of what it counts. */
type Chart = {
  title: string;
  label: string;
  /** Null while they are read. */
  bars: readonly Bar[] | null;
  series?: readonly Series[];
  say?: (count: number) => string;
  note?: string;
  hrefOf: (name: string) => string;
};

const sayRecords = (count: number) => countOf(count, 'record');

const tiers: readonly Series[] = [
  { name: 'cold', tone: 'cold' },
  { name: 'hot', tone: 'hot' },
];

function chartsOf(of: {
  records: RecordsOverview | null;
  webhooks: WebhooksOverview | null;
  isAdmin: boolean;
  zone: Zone;
}): Chart[] {
  const { records, webhooks, isAdmin, zone } = of;
  const from = records?.counted_from ?? null;
  const isWhole = records === null || from === null || from <= records.days.from;
  const deliveries: Chart = {
    title: 'DELIVERIES PER HOUR, 48 HOURS',
    label: 'Deliveries per hour',
    bars: webhooks && barsOfHours(webhooks.hours, zone),
    series: attemptSeries,
    say: sayAttempts,
    hrefOf: (hour) => `#/deliveries${stringifySearch(dayOf(hour, zone))}`,
  };
  return [
    ...(isAdmin ? [deliveries] : []),
    {
      title: 'RECORDS STORED PER DAY, 90 DAYS',
      label: 'Records stored per day',
      bars:
        records &&
        barsOfDays(
          records.days.from,
          records.days.count.map((count) => [count]),
        ),
      note: isWhole ? '' : `Counted since ${from}.`,
      hrefOf: (day) => storedHref(day, tenantsOn(records, day)),
    },
    {
      title: 'HOT AND COLD, 90 DAYS',
      label: 'Hot and cold records',
      bars: records && barsOfTiers(records.days),
      series: tiers,
      hrefOf: () => '#/retention',
    },
  ];
}

/** The tenants of which something was stored on a day, among those of the last four weeks. */
function tenantsOn(records: RecordsOverview | null, day: string): string[] {
  const { from, tenants } = records?.by_tenant ?? { from: day, tenants: [] };
  const at = Math.round((Date.parse(day) - Date.parse(from)) / dayMillis);
  return tenants.flatMap(({ tenant, days }) => ((days[at] ?? 0) > 0 ? [tenant] : []));
}

const isFull = ({ parts }: Bar) => parts.some((part) => part > 0);

/** Less than three bars are no picture. */
function isWorthAChart(bars: readonly Bar[]): boolean {
  return bars.length - bars.findIndex(isFull) >= 3 && bars.some(isFull);
}

/** A chart in words: `2026-03-05: 1,204 delivered, 3 failed · 2026-03-06: …`, each a link. */
function lineOf({
  bars,
  series,
  hrefOf,
  say,
}: Required<Pick<Chart, 'hrefOf' | 'say'>> & {
  bars: readonly Bar[];
  series: readonly Series[] | undefined;
}): ReactNode {
  const full = bars.filter(isFull);
  if (full.length === 0) return <span className="muted">nothing yet</span>;
  return full.map(({ name, parts }, index) => {
    const total = parts.reduce((sum, part) => sum + part, 0);
    const each = series?.flatMap((one, at) =>
      (parts[at] ?? 0) === 0 ? [] : [`${formatCount(parts[at] ?? 0)} ${one.name}`],
    );
    return (
      <Fragment key={name}>
        {index > 0 && ' · '}
        <a href={hrefOf(name)}>{name}</a>: {each === undefined ? say(total) : each.join(', ')}
      </Fragment>
    );
  });
}

/** The days of all tenants as bars, to see since when there are any. */
function daysOfHeat({ by_tenant: { tenants } }: RecordsOverview): Bar[] {
  return (tenants[0]?.days ?? []).map((_, at) => ({
    name: '',
    parts: tenants.map(({ days }) => days[at] ?? 0),
  }));
}

function tenantsLine(tenants: RecordsOverview['by_tenant']['tenants']): ReactNode {
  return tenants.map(({ tenant, days }, index) => (
    <Fragment key={tenant}>
      {index > 0 && ' · '}
      <a href={`#/records${stringifySearch({ tenant })}`}>{visibleText(tenant)}</a>{' '}
      {formatCount(days.reduce((sum, count) => sum + count, 0))}
    </Fragment>
  ));
}

function barsOfDays(from: string, parts: readonly (readonly number[])[]): Bar[] {
  return parts.map((each, at) => ({ name: dayAfter(from, at), parts: each }));
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
function TroubledEndpoints({ webhooks }: { webhooks: WebhooksOverview }): ReactNode {
  const { endpoints, failing, degraded, gone, disabled, held } = webhooks;
  const shown = endpoints.slice(0, mostShown);
  const more = failing + degraded + gone + disabled + held - shown.length;
  // Where nothing was ever sent, nobody knows.
  if (shown.length === 0) {
    const isTried = barsOfHours(webhooks.hours, 'utc').some(isFull);
    return (
      <p className="muted">{isTried ? 'No endpoint fails.' : 'Nothing was sent in 48 hours.'}</p>
    );
  }
  return (
    <>
      <ul className={classes.endpoints}>
        {shown.map((endpoint) => (
          <li key={endpoint.id}>
            <a
              className="hover"
              href={panelHref(
                '/endpoints',
                { kind: 'endpoint', id: endpoint.id },
                { health: endpoint.health },
              )}
            >
              <span className="cut">
                <EndpointHealth endpoint={endpoint} />
              </span>
              <span className={`shrink ${classes.need}`}>
                <span>
                  <strong>{visibleText(endpoint.tenant)}</strong>
                  <Target target={shownTarget(endpoint)} />
                </span>
                <LastError of={endpoint} />
              </span>
              <span className={`nowrap right ${classes.ok}`}>
                <OkShare hours={endpoint.hours} /> ok
              </span>
              <span className={classes.spark}>
                <HoursChart hours={endpoint.hours} />
              </span>
              <span className="nowrap right">{backlogText(endpoint.backlog)} waiting</span>
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

/** What failed last at an endpoint, and when. */
function LastError({ of: { last_error: last } }: { of: Endpoint }): ReactNode {
  if (last == null) return null;
  return (
    <span>
      <span className="cut">
        <CutText text={last.error ?? `answered ${last.status}`} end="" />
      </span>
      <span className="nowrap">
        <Moment at={last.at} />
      </span>
    </span>
  );
}
