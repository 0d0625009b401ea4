import { Anchor, Button } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Page, Plan, RetentionMove, StoreSummary, Verification } from '../api/types.ts';
import { formatBytes, formatCount } from '../ui/format.ts';
import { CloseIcon, HoldIcon, OkIcon, QueuedIcon, WarningIcon } from '../ui/icons.tsx';
import { whereFree } from '../ui/keys.ts';
import { SkeletonText } from '../ui/list.tsx';
import { Moment } from '../ui/marks.tsx';
import { countOf } from '../ui/words.ts';
import { isAtWork, type Sums } from './calls.ts';
import classes from './head.module.css';
import { outcomeText } from './jobs.tsx';
import { ShareBar, TierWord } from './marks.tsx';
import { retentionHref } from './search.ts';
import { daysText, ratioText, reasonText } from './words.ts';

type HeadProps = {
  sums: UseQueryResult<Sums>;
  plan: UseQueryResult<Plan>;
  verifications: UseQueryResult<Page<Verification>>;
  onVerification: (id: string) => void;
};

/** The head of the page: the figures that operators come for, largest first. */
export function Head(props: HeadProps): ReactNode {
  const { sums, plan } = props;
  return (
    <section className={`flex-none line-under ${classes.head}`} aria-label="All tenants">
      <dl className={`figures ${classes.figures}`}>
        <Tiers sums={sums.data} />
        <PlanFigures plan={plan.data} />
        <LastVerification {...props} />
      </dl>
      <div className={classes.picture}>
        {sums.data !== undefined && sums.data.tenants > 0 && (
          <ShareBar share={shareOf(sums.data)} />
        )}
      </div>
    </section>
  );
}

/** How much is hot and how much is cold, in all tenants. */
function Tiers({ sums }: { sums: Sums | undefined }): ReactNode {
  const more = sums?.isPart ? '+' : '';
  const shown = (text: (each: Sums) => string) =>
    sums === undefined ? <SkeletonText width="72px" /> : text(sums);
  return (
    <>
      <div className={classes.main}>
        <dt>
          <TierWord tier="hot" /> RECORDS
        </dt>
        <dd>{shown(({ hotCount }) => `${formatCount(hotCount)}${more}`)}</dd>
        <dd className={classes.note}>
          {shown(
            (all) => `${formatBytes(all.hotBytes)} of ${countOf(all.tenants, 'tenant')}${more}`,
          )}
        </dd>
      </div>
      <div className={classes.main}>
        <dt>
          <TierWord tier="cold" /> RECORDS
        </dt>
        <dd>{shown(({ coldCount }) => `${formatCount(coldCount)}${more}`)}</dd>
        <dd className={classes.note}>{shown(coldText)}</dd>
      </div>
    </>
  );
}

/** The size of cold records and of their objects, with the ratio: `1.4 GB in 36 MB · 40 ×`. */
function coldText({ coldBytes, storedBytes }: Sums): string {
  if (coldBytes === 0) return 'nothing is stored cold';
  const ratio = ratioText(coldBytes, storedBytes);
  return `${formatBytes(coldBytes)} in ${formatBytes(storedBytes)} · ${ratio}`;
}

function shareOf(sums: Sums) {
  return {
    hot_count: sums.hotCount,
    hot_bytes: sums.hotBytes,
    cold_count: sums.coldCount,
    cold_bytes: sums.coldBytes,
    cold_stored_bytes: sums.storedBytes,
  };
}

type Sum = { tenants: number; count: number; bytes: number };

/** What a run would do now, in figures. */
function PlanFigures({ plan }: { plan: Plan | undefined }): ReactNode {
  const totals = plan?.totals;
  return (
    <>
      <PlanFigure name="DUE TO MOVE NOW" sum={totals?.move} />
      <PlanFigure name="DUE TO BE DELETED" sum={totals?.delete} isGrave />
      <PlanFigure name="HELD BACK" sum={totals?.held} mark={<HoldIcon />} />
      <DeadSpace plan={plan} />
    </>
  );
}

/** How much of the hot space is dead. Its files hold all tenants, so a limited token does not see it. */
function DeadSpace({ plan }: { plan: Plan | undefined }): ReactNode {
  const space = plan?.hot_space;
  if (space === null) return null;
  return (
    <div title={space === undefined ? undefined : deadSpaceTitle(space)}>
      <dt>DEAD HOT SPACE</dt>
      <dd>{space === undefined ? <SkeletonText width="56px" /> : formatBytes(space.dead_bytes)}</dd>
      <dd className={classes.note}>
        {space !== undefined && `of ${formatBytes(space.size_bytes)} on the disk`}
      </dd>
    </div>
  );
}

function deadSpaceTitle({ snapshot_since: since }: NonNullable<Plan['hot_space']>): string {
  const held = `; a snapshot open since ${since ?? ''} keeps what has died since then`;
  return `The end of each run gives it back${since === null ? '' : held}`;
}

function PlanFigure(props: {
  name: string;
  sum: Sum | undefined;
  isGrave?: boolean;
  mark?: ReactNode;
}): ReactNode {
  const { sum, isGrave = false } = props;
  const isAny = sum !== undefined && sum.count > 0;
  return (
    <div>
      <dt>
        {props.mark}
        {props.name}
      </dt>
      <dd className={isGrave && isAny ? 'danger' : undefined}>
        {sum === undefined ? <SkeletonText width="56px" /> : formatCount(sum.count)}
      </dd>
      <dd className={classes.note}>
        {isAny && `${formatBytes(sum.bytes)} of ${countOf(sum.tenants, 'tenant')}`}
        {sum?.count === 0 && 'nothing'}
      </dd>
    </div>
  );
}

/** When the last verification ended, and how. */
function LastVerification(props: HeadProps): ReactNode {
  const ended = props.verifications.data?.data.find((each) => !isAtWork(each));
  return (
    <div className={classes.verification}>
      <dt>LAST VERIFICATION</dt>
      {ended === undefined ? (
        <>
          <dd>
            {props.verifications.data === undefined ? <SkeletonText width="96px" /> : 'never'}
          </dd>
          <dd className={classes.note}>VERIFY reads all of it back</dd>
        </>
      ) : (
        <>
          <dd>
            <Outcome verification={ended} />
            <Moment at={ended.finished_at ?? ended.requested_at} />
          </dd>
          <dd className={classes.note}>
            <button
              type="button"
              className="link-button"
              onClick={() => props.onVerification(ended.id)}
            >
              {ended.tenant === null ? '' : `${ended.tenant}: `}
              {outcomeText(ended)}
            </button>
          </dd>
        </>
      )}
    </div>
  );
}

/** The outcome of a verification, equal or not, as a word with a shape. */
function Outcome({ verification }: { verification: Verification }): ReactNode {
  if (isAtWork(verification))
    return (
      <span className="mark">
        <QueuedIcon />
        {verification.state}
      </span>
    );
  const { since, sample_percent: sample, segments_total: segments } = verification;
  // Of what was not looked at nobody knows that it is equal.
  const isPart = since !== null || sample !== null;
  if (verification.ok === true && isPart && segments === 0) return 'nothing read';
  const isOk = verification.ok === true;
  const word = verification.state === 'failed' ? 'not finished' : isOk ? 'equal' : 'differs';
  return (
    <span className={isOk ? 'mark ok' : 'mark danger'}>
      {isOk ? <OkIcon /> : <CloseIcon />}
      {word}
    </span>
  );
}

/** Stands in place of a button that only admins may use. */
export function NeedsAdmin({ what }: { what: string }): ReactNode {
  return <p className="muted">{what} need a token with the scope admin.</p>;
}

/** The button that starts a verification, unless one runs. */
export function VerifyButton(props: { isVerifying: boolean; onVerify: () => void }): ReactNode {
  const { isVerifying } = props;
  return (
    <Button
      title={
        isVerifying
          ? 'A verification is under way'
          : 'Reads every object back and compares it with the counters; changes nothing'
      }
      {...whereFree(!isVerifying, props.onVerify)}
    >
      VERIFY
    </Button>
  );
}

const mostShown = 3;

/** Warns that the store of cold data belongs to another database, or cannot be used. */
export function StoreAlert({ store }: { store: StoreSummary | undefined }): ReactNode {
  if (store === undefined || store.problem === null) return null;
  const isFenced = ['elsewhere', 'read_only', 'unclaimed'].includes(store.state);
  return (
    <Alert label="The store of cold data">
      <div className={`signed ${classes.line}`}>
        <WarningIcon />
        <p className="grow break">
          <strong>
            {isFenced ? 'Nothing is moved, merged or deleted' : 'The store of cold data fails'}
          </strong>
          : {store.problem}
        </p>
      </div>
    </Alert>
  );
}

/** Lists the moves that failed and were not made good: which tenant, which days, why, and what to do. */
export function FailureAlert({ failures }: { failures: readonly RetentionMove[] }): ReactNode {
  if (failures.length === 0) return null;
  const rest = failures.length - mostShown;
  return (
    <Alert label="Failed moves">
      {failures.slice(0, mostShown).map((move) => (
        <div key={move.id} className={`signed ${classes.line}`}>
          <WarningIcon />
          <p className="grow break">
            <strong>
              {move.kind} of {move.tenant}, {daysText(move.first_day, move.last_day)}, failed
            </strong>{' '}
            <Moment at={move.failed_at} />: {reasonText(move)}
          </p>
          <Anchor href={retentionHref('move', move.id)}>see the move</Anchor>
        </div>
      ))}
      {rest > 0 && (
        <p className={classes.rest}>
          <Anchor href="#/retention?view=journal&state=failed">
            and {countOf(rest, 'failed move')} more
          </Anchor>
        </p>
      )}
    </Alert>
  );
}

function Alert({ label, children }: { label: string; children: ReactNode }): ReactNode {
  return (
    <section
      className={`flex-none danger line-under ${classes.alert}`}
      role="alert"
      aria-label={label}
    >
      {children}
    </section>
  );
}
