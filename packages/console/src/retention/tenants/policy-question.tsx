import { Button, Modal } from '@mantine/core';
import type { ReactNode } from 'react';
import formClasses from '../../ui/form.module.css';
import { formatCount } from '../../ui/format.ts';
import { useFailure } from '../../ui/freshness.tsx';
import { reasonOf } from '../../ui/outage.ts';
import { SkeletonText } from '../../ui/skeleton.tsx';
import { countOf } from '../../ui/words.ts';
import { firstDayKept, type PolicyValues } from './policy-values.ts';
import { useEffectOfDeletion } from './use-effect-of-deletion.ts';

/** What a policy would delete that stays today, before it is saved. */
export function PolicyQuestion(props: {
  tenant: string;
  /** null: nothing is asked. */
  values: PolicyValues | null;
  onYes: () => void;
  onClose: () => void;
}): ReactNode {
  const { tenant, values, onClose } = props;
  const isDefault = tenant === '*';
  const deleteDays = values === null || values.deleteDays === '' ? null : values.deleteDays;
  return (
    <Modal
      opened={values !== null}
      onClose={onClose}
      lockScroll={false}
      centered
      title={isDefault ? 'Delete by default?' : `Delete records of ${tenant} by this policy?`}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {deleteDays !== null && <Effect tenant={tenant} deleteDays={deleteDays} />}
      <div className={formClasses.answers}>
        <Button onClick={onClose} data-autofocus>
          Keep it as it is
        </Button>
        <Button color="red.9" variant="filled" onClick={props.onYes}>
          Delete after {deleteDays === null ? '' : formatCount(deleteDays)} days
        </Button>
      </div>
    </Modal>
  );
}

function Effect({ tenant, deleteDays }: { tenant: string; deleteDays: number }): ReactNode {
  const isDefault = tenant === '*';
  const firstKept = firstDayKept(deleteDays, Date.now());
  const effect = useEffectOfDeletion(tenant, isDefault ? undefined : firstKept);
  const failure = useFailure(effect);
  if (isDefault) {
    return (
      <p>
        Records older than {formatCount(deleteDays)} days go for good at the next run, of every
        tenant without a policy of its own. DUE TO BE DELETED then says how many.
      </p>
    );
  }
  if (failure !== null) return <p role="alert">How many is unknown: {reasonOf(failure)}</p>;
  return (
    <p role="status">
      {effect.data === undefined ? (
        <SkeletonText width="280px" />
      ) : (
        <>
          <strong>
            {effect.data.isPart ? 'At least ' : ''}
            {countOf(effect.data.count, 'record')}
          </strong>{' '}
          of days before {effect.data.firstKept} go for good at the next run. Nothing brings them
          back.
        </>
      )}
    </p>
  );
}
