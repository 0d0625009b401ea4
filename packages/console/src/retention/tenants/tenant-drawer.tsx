import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import type { RetentionPolicy, TenantState } from '../../api/types.ts';
import { Facts } from '../../ui/facts.tsx';
import { formatBytes, formatCount } from '../../ui/format.ts';
import { FailurePanel, useFailure } from '../../ui/freshness.tsx';
import { stringifySearch } from '../../ui/hash-state.ts';
import { Loaded, SkeletonText } from '../../ui/list.tsx';
import { Moment } from '../../ui/marks.tsx';
import { MonthSums } from '../../ui/month-sums.tsx';
import { Panel, PanelBody } from '../../ui/panel.tsx';
import { countOf } from '../../ui/words.ts';
import { useLastMoves, usePlan, usePolicy, useTenant } from '../calls.ts';
import { NeedsAdmin, VerifyButton } from '../head.tsx';
import { HoldMark, ShareBar, Stepper, TierWord } from '../marks.tsx';
import { PlanTable } from '../plan.tsx';
import { retentionHref } from '../search.ts';
import { daysText, storedText } from '../words.ts';
import { PolicyForm } from './policy-form.tsx';
import classes from './tenant.module.css';
import { deleteText } from './tenants-table.tsx';

type TenantDrawerProps = {
  /** The tenant, or `*` for the default policy. */
  tenant: string;
  mayAct: boolean;
  isVerifying: boolean;
  onRun: () => void;
  onVerify: () => void;
  onClose: () => void;
};

/** The drawer of a tenant: what of it is hot and cold, its policy, what a run would do, and its last moves. */
export function TenantDrawer(props: TenantDrawerProps): ReactNode {
  const { tenant } = props;
  const isDefault = tenant === '*';
  return (
    <Panel
      kind={isDefault ? 'DEFAULT POLICY' : 'TENANT'}
      title={isDefault ? '' : tenant}
      id={tenant}
      closeLabel={isDefault ? 'Close policy' : 'Close tenant'}
      onClose={props.onClose}
    >
      {!isDefault && <Actions {...props} />}
      <PanelBody label={isDefault ? 'The default policy' : 'The tenant'}>
        {!isDefault && (
          <>
            <Tiers tenant={tenant} />
            <MonthSums
              tenant={tenant}
              height={96}
              onOpen={(month) => {
                window.location.hash = `/retention${stringifySearch({ view: 'journal', tenant, month })}`;
              }}
            />
          </>
        )}
        <Policy tenant={tenant} mayAct={props.mayAct} />
        {!isDefault && (
          <>
            <Due tenant={tenant} />
            <LastMoves tenant={tenant} />
          </>
        )}
      </PanelBody>
    </Panel>
  );
}

function Actions(props: TenantDrawerProps): ReactNode {
  return (
    <div className="drawer-actions">
      {props.mayAct ? (
        <>
          <Button onClick={props.onRun}>RUN NOW…</Button>
          <VerifyButton isVerifying={props.isVerifying} onVerify={props.onVerify} />
        </>
      ) : (
        <NeedsAdmin what="RUN NOW, VERIFY and the policy" />
      )}
      <span className="grow" />
      <a href={`#/records?tenant=${encodeURIComponent(props.tenant)}`}>its records</a>
    </div>
  );
}

/** How much of the tenant is hot and how much is cold. */
function Tiers({ tenant }: { tenant: string }): ReactNode {
  const state = useTenant(tenant);
  const failure = useFailure(state);
  if (state.data === null) {
    return <p className="muted">No record of this tenant is stored.</p>;
  }
  if (state.data === undefined && failure !== null) {
    return <FailurePanel error={failure} onRetry={() => void state.refetch()} />;
  }
  const row = state.data;
  const shown = (text: (each: TenantState) => string) =>
    row === undefined ? <SkeletonText width="120px" /> : text(row);
  return (
    <div className={classes.tiers}>
      {row !== undefined && <ShareBar share={row} className="below-8" />}
      <dl className={classes.tierFields}>
        <div>
          <dt className="caps">
            <TierWord tier="hot" />
          </dt>
          <dd>
            {shown(
              (each) => `${countOf(each.hot_count, 'record')} · ${formatBytes(each.hot_bytes)}`,
            )}
          </dd>
        </div>
        <div>
          <dt className="caps">
            <TierWord tier="cold" />
          </dt>
          <dd>
            {shown((each) =>
              each.cold_count === 0
                ? 'nothing yet'
                : `${countOf(each.cold_count, 'record')} · ${storedText(each.cold_bytes, each.cold_stored_bytes)} · ${countOf(each.segments, 'segment')}`,
            )}
          </dd>
        </div>
      </dl>
    </div>
  );
}

function Policy({ tenant, mayAct }: { tenant: string; mayAct: boolean }): ReactNode {
  const query = usePolicy(tenant);
  return (
    <>
      {tenant !== '*' && <h3 className={`caps ${classes.title}`}>POLICY</h3>}
      <Loaded query={query} name="the policy" rows={6}>
        {(policy) => (
          <>
            <Origin policy={policy} />
            {mayAct ? <PolicyForm policy={policy} /> : <PolicyFacts policy={policy} />}
          </>
        )}
      </Loaded>
    </>
  );
}

function Origin({ policy }: { policy: RetentionPolicy }): ReactNode {
  const who = policy.updated_by === null ? 'as installed' : `set by ${policy.updated_by}`;
  return (
    <p className="muted below-12">
      {policy.tenant === '*' && 'For every tenant without a policy of its own: '}
      {policy.tenant !== '*' && (policy.from_default ? 'The default, ' : 'Its own, ')}
      {who} <Moment at={policy.updated_at} />
      {policy.tenant !== '*' && policy.from_default && '. Saving gives it its own.'}
    </p>
  );
}

function PolicyFacts({ policy }: { policy: RetentionPolicy }): ReactNode {
  return (
    <Facts
      facts={{
        'hot for': `${formatCount(policy.hot_days)} d`,
        'deleted after': deleteText(policy.delete_days),
        'legal hold': policy.hold ? <HoldMark /> : 'no',
      }}
    />
  );
}

/** What a run would do now with the tenant. */
function Due({ tenant }: { tenant: string }): ReactNode {
  const plan = usePlan({ tenant });
  const rows = plan.isPlaceholderData ? undefined : plan.data?.data;
  return (
    <>
      <h3 className={`caps ${classes.title}`}>DUE NOW</h3>
      <div className={classes.block}>
        {rows === undefined && <SkeletonText width="240px" />}
        {rows?.length === 0 && <p className="muted">Nothing is due.</p>}
        {rows !== undefined && rows.length > 0 && <PlanTable rows={rows} />}
      </div>
    </>
  );
}

/** The last moves of the tenant. */
function LastMoves({ tenant }: { tenant: string }): ReactNode {
  const moves = useLastMoves(tenant);
  const rows = moves.data?.data;
  const journal = `#/retention?view=journal&tenant=${encodeURIComponent(tenant)}`;
  return (
    <>
      <h3 className={`caps ${classes.title}`}>LAST MOVES</h3>
      <div className={classes.block}>
        {rows === undefined && <SkeletonText width="240px" />}
        {rows?.length === 0 && <p className="muted">None yet.</p>}
        <ul className={classes.moves}>
          {rows?.map((move) => (
            <li key={move.id} className="grid gap-8 line-under">
              <a href={retentionHref('move', move.id)}>
                {move.kind} {daysText(move.first_day, move.last_day)}
              </a>
              <Stepper move={move} />
              <span className={`muted right ${classes.when}`}>
                <Moment at={move.planned_at} />
              </span>
            </li>
          ))}
        </ul>
        {rows !== undefined && rows.length > 0 && <a href={journal}>all of them in the journal</a>}
      </div>
    </>
  );
}
