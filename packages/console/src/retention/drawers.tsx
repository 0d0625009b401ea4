import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { api } from '../api/client.ts';
import type { RetentionMove, TenantState, Verification } from '../api/types.ts';
import { noPlaceholder, useFollowing } from '../ui/poll.tsx';
import { retentionKey, useMove, useTenant } from './calls.ts';
import { isAtWork } from './jobs.ts';
import { MoveDrawer } from './journal/move-drawer.tsx';
import type { DrawerPlace } from './search.ts';
import { TenantDrawer } from './tenants/tenant-drawer.tsx';
import { VerificationDrawer } from './verify/verification-drawer.tsx';

export type DrawerQueries = {
  readonly tenant: UseQueryResult<TenantState | null>;
  readonly move: UseQueryResult<RetentionMove>;
  readonly verification: UseQueryResult<Verification>;
  /** Those that are shown. */
  readonly watched: readonly UseQueryResult<unknown>[];
};

/** What the open drawer shows, read as long as it is open. */
export function useDrawerQueries(place: DrawerPlace | undefined): DrawerQueries {
  const idOf = (kind: DrawerPlace['kind']) => (place?.kind === kind ? place.id : undefined);
  const tenantId = idOf('tenant');
  const tenant = useTenant(tenantId === '*' ? undefined : tenantId);
  const move = useMove(idOf('move'));
  const verification = useVerification(idOf('verify'));
  const all = { tenant, move, verify: verification } as const;
  const isShown = place !== undefined && tenantId !== '*';
  return { tenant, move, verification, watched: isShown ? [all[place.kind]] : [] };
}

const followMillis = 1_000;

function useVerification(id: string | undefined): UseQueryResult<Verification> {
  return useQuery<Verification>({
    // As the page follows one that is at work: both read it once.
    queryKey: [...retentionKey, 'verifications', id],
    enabled: id !== undefined,
    placeholderData: noPlaceholder,
    refetchInterval: useFollowing(isAtWork, followMillis),
    queryFn: ({ signal }) =>
      api.get<Verification>(`/retention/verify/${encodeURIComponent(id ?? '')}`, {}, signal),
  });
}

export function Drawers(props: {
  place: DrawerPlace | undefined;
  queries: DrawerQueries;
  mayAct: boolean;
  isVerifying: boolean;
  onRun: (tenant: string) => void;
  onVerify: (tenant: string) => void;
  onClose: () => void;
}): ReactNode {
  const { place, queries, onClose } = props;
  if (place === undefined) return null;
  const { kind, id } = place;
  switch (kind) {
    case 'tenant':
      return (
        <TenantDrawer
          key={id}
          tenant={id}
          state={queries.tenant}
          mayAct={props.mayAct}
          isVerifying={props.isVerifying}
          onRun={() => props.onRun(id)}
          onVerify={() => props.onVerify(id)}
          onClose={onClose}
        />
      );
    case 'move':
      return <MoveDrawer id={id} move={queries.move} onClose={onClose} />;
    case 'verify':
      return <VerificationDrawer id={id} verification={queries.verification} onClose={onClose} />;
  }
}
