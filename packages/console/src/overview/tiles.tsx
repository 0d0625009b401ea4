import type { ReactNode } from 'react';
import type { Overview, RecordsOverview, WebhooksOverview } from '../api/types.ts';
import { Sparkline } from '../ui/chart/sparkline.tsx';
import { hoursText, okShareOf } from '../ui/endpoint.tsx';
import {
  formatAge,
  formatBytes,
  formatClock,
  formatCount,
  formatShare,
  type Zone,
} from '../ui/format.ts';
import { CloseIcon, OkIcon } from '../ui/icons.tsx';
import { SkeletonText } from '../ui/list.tsx';
import { Moment, usePageNow } from '../ui/marks.tsx';
import { panelHref } from '../ui/panel-place.ts';
import { countOf } from '../ui/words.ts';
import { useZone } from '../ui/zone-switch.tsx';
import classes from './overview.module.css';
import { describeChange, describeWork } from './words.ts';

/** The figures that operators come for. Each leads to its page. */
export function Tiles(props: { overview: Overview | undefined; isAdmin: boolean }): ReactNode {
  const { overview, isAdmin } = props;
  const { records = null, webhooks = null, retention = null } = overview ?? {};
  return (
    <section className={`flex flex-none line-under ${classes.tiles}`} aria-label="Figures">
      <RecordsTile records={records} />
      <TodayTile records={records} />
      {isAdmin && <DeliveriesTile webhooks={webhooks} />}
      {isAdmin && <DeadLettersTile webhooks={webhooks} />}
      <VerificationTile retention={retention} />
      <WorkTile work={overview?.work} />
    </section>
  );
}

type TileProps = {
  name: string;
  /** The place to which it leads. */
  href: string;
  /** The figure; null while it is read. */
  figure: ReactNode;
  note: ReactNode;
  picture?: ReactNode;
};

function Tile({ name, href, figure, note, picture }: TileProps): ReactNode {
  return (
    <a
      className={`hover grid relative shrink ${classes.tile}`}
      href={href}
      data-wide={picture !== undefined}
    >
      <span className="figure-name">{name}</span>
      <span className={`bold nowrap ${classes.figure}`}>
        {figure ?? <SkeletonText width="96px" />}
      </span>
      <span className="cut muted small">{note}</span>
      {picture !== undefined && <span className={classes.picture}>{picture}</span>}
    </a>
  );
}

function RecordsTile({ records }: { records: RecordsOverview | null }): ReactNode {
  const tiers = records !== null && records.count > 0;
  return (
    <Tile
      name="RECORDS"
      href="#/records"
      figure={records && formatCount(records.count)}
      note={
        records &&
        (tiers
          ? `${formatShare(records.hot_count / records.count)} hot · ${formatBytes(records.bytes)}`
          : 'none yet')
      }
    />
  );
}

function TodayTile({ records }: { records: RecordsOverview | null }): ReactNode {
  const hours = records?.hours.count.slice(-24) ?? [];
  const label = `Records stored in each of the last 24 hours: ${countOf(
    hours.reduce((sum, count) => sum + count, 0),
    'record',
  )}`;
  return (
    <Tile
      name="STORED TODAY, UTC"
      href="#/records"
      figure={records && formatCount(records.today.count)}
      note={records && describeChange(records)}
      picture={records && <Sparkline label={label} good={hours} bad={[]} />}
    />
  );
}

function DeliveriesTile({ webhooks }: { webhooks: WebhooksOverview | null }): ReactNode {
  const day = webhooks && lastDay(webhooks.hours);
  const share = okShareOf(day ?? undefined);
  const [zone] = useZone();
  return (
    <Tile
      name="DELIVERED, 24 HOURS"
      href="#/deliveries"
      // All of it is of the same time: an hour alone may be empty beside a picture that is not.
      figure={day && formatCount(day.delivered.reduce((sum, count) => sum + count, 0))}
      note={
        day && (share === null ? 'no attempts' : `${tenths(share)} ok · ${thisHour(day, zone)}`)
      }
      picture={day && <Sparkline label={hoursText(day)} good={day.delivered} bad={sums(day)} />}
    />
  );
}

/** How many were delivered in the present hour, in the zone of all times: `95 since 14:00`. */
function thisHour({ from, delivered }: WebhooksOverview['hours'], zone: Zone): string {
  const begin = Date.parse(from) + (delivered.length - 1) * 3_600_000;
  return `${formatCount(delivered.at(-1) ?? 0)} since ${formatClock(begin, zone).slice(0, 5)}`;
}

/** Those of attempts that did not deliver. */
function sums({ failed, abandoned }: WebhooksOverview['hours']): number[] {
  return failed.map((count, at) => count + (abandoned[at] ?? 0));
}

function lastDay({ from, ...series }: WebhooksOverview['hours']): WebhooksOverview['hours'] {
  const before = Math.max(0, series.delivered.length - 24);
  return {
    from: new Date(Date.parse(from) + before * 3_600_000).toISOString(),
    delivered: series.delivered.slice(-24),
    failed: series.failed.slice(-24),
    abandoned: series.abandoned.slice(-24),
  };
}

/** A share with a decimal, rounded down, so that 100 % means all: `99.2 %`. */
function tenths(share: number): string {
  const tenth = Math.floor(Number((share * 1000).toPrecision(12))) / 10;
  return `${tenth} %`;
}

function DeadLettersTile({ webhooks }: { webhooks: WebhooksOverview | null }): ReactNode {
  const now = usePageNow();
  if (webhooks === null) return <Tile name="DEAD LETTERS" href="#/dlq" figure={null} note={null} />;
  const { abandoned, pending, oldest_failure_at: oldest } = webhooks;
  return (
    <Tile
      name="DEAD LETTERS"
      href="#/dlq"
      figure={
        <span className={abandoned > 0 ? 'danger' : undefined}>
          {formatCount(abandoned)} <small>abandoned</small>
        </span>
      }
      note={
        oldest === null ? (
          'DLQ is clean'
        ) : (
          <>
            {formatCount(pending)} pending · oldest{' '}
            <time dateTime={oldest} title={oldest}>
              {formatAge(now - Date.parse(oldest))}
            </time>
          </>
        )
      }
    />
  );
}

function VerificationTile({ retention }: { retention: Overview['retention'] }): ReactNode {
  const name = 'LAST VERIFICATION';
  const last = retention?.verification ?? null;
  if (last === null) {
    const figure = retention === null ? null : 'never';
    return (
      <Tile
        name={name}
        href="#/retention"
        figure={figure}
        note={retention && 'VERIFY reads all back'}
      />
    );
  }
  const { id, ok, problem_count: problems, segments_total: segments, finished_at: at } = last;
  const word = ok === null ? 'not finished' : ok ? 'equal' : countOf(problems, 'difference');
  // Of what was not looked at nobody knows that it is equal.
  const figure =
    ok === true && segments === 0 ? (
      'no segments'
    ) : (
      <span className={`mark large ${ok === true ? 'ok' : 'danger'}`}>
        {ok === true ? <OkIcon /> : <CloseIcon />}
        {word}
      </span>
    );
  return (
    <Tile
      name={name}
      href={panelHref('/retention', { kind: 'verification', id })}
      figure={figure}
      note={
        <>
          <Moment at={at} /> · {countOf(segments ?? 0, 'segment')}
        </>
      }
    />
  );
}

const mostShown = 2;

/** The jobs that have not ended, each as a link to where it is followed; its name leads to all jobs. */
function WorkTile({ work }: { work: Overview['work'] | undefined }): ReactNode {
  const count = work?.length ?? 0;
  return (
    <div className={`grid relative shrink ${classes.tile}`}>
      <a className="figure-name" href="#/jobs">
        OPEN JOBS{count > mostShown && ` · ${mostShown} OF ${count}`}
      </a>
      {work?.length === 0 && <span className={`bold nowrap ${classes.figure}`}>–</span>}
      {work?.length === 0 && <span className="cut muted small">none at work or paused</span>}
      {work === undefined && (
        <span className={`bold nowrap ${classes.figure}`}>
          <SkeletonText width="48px" />
        </span>
      )}
      {work !== undefined && work.length > 0 && (
        <ul className={classes.work}>
          {work.slice(0, mostShown).map((each) => {
            const { name, far, href } = describeWork(each);
            return (
              <li key={each.id} className="cut">
                <a href={href}>{name}</a> <span>{far}</span>
              </li>
            );
          })}
        </ul>
      )}
    </div>
  );
}
