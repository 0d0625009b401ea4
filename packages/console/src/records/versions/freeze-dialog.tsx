import { Button, Modal, Textarea, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import type { DatasetVersion } from '../../api/types.ts';
import { reasonOf } from '../../webhooks/delivery/use-retries.ts';
import formClasses from '../../webhooks/form.module.css';
import { DatasetChoice } from '../tags/dataset-choice.tsx';
import tagClasses from '../tags/tags.module.css';
import { type FreezeValues, firstValues, shareFaultOf, versionOf } from './freeze-values.ts';
import { useFreeze } from './use-versions.ts';
import classes from './versions.module.css';

export type FreezeDialogProps = {
  tenant: string;
  onFrozen: (version: DatasetVersion) => void;
  onClose: () => void;
};

/** Makes what is tagged now a version that never changes. */
export function FreezeDialog(props: FreezeDialogProps): ReactNode {
  return (
    <Modal
      opened
      onClose={props.onClose}
      size={520}
      lockScroll={false}
      title={`Freeze a dataset of ${props.tenant}`}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <FreezeForm {...props} />
    </Modal>
  );
}

function FreezeForm({ tenant, onFrozen, onClose }: FreezeDialogProps): ReactNode {
  const [values, setValues] = useState(firstValues);
  const freeze = useFreeze(onFrozen);
  const set = (change: Partial<FreezeValues>) => {
    setValues((all) => ({ ...all, ...change }));
    if (freeze.error !== null) freeze.reset();
  };
  const shareFault = shareFaultOf(values);
  const version = versionOf(tenant, values);
  return (
    <form
      className={formClasses.form}
      aria-label="A new version"
      onSubmit={(event) => {
        event.preventDefault();
        if (version !== null && !freeze.isPending) freeze.mutate(version);
      }}
    >
      <p className={classes.what}>
        The records that are tagged now, whatever is tagged, untagged or arrives later. Retention
        does not delete them unless it is told to.
      </p>
      <DatasetChoice value={values.dataset} onChange={(dataset) => set({ dataset })} />
      <TextInput
        label="Name"
        description="As it is asked for in exports: such as 2001-q1"
        required
        autoComplete="off"
        maxLength={200}
        value={values.name}
        onChange={(event) => set({ name: event.currentTarget.value })}
      />
      <ShareFields values={values} fault={shareFault} set={set} />
      <Textarea
        label="Note"
        maxLength={1000}
        autosize
        minRows={1}
        maxRows={4}
        value={values.note}
        onChange={(event) => set({ note: event.currentTarget.value })}
      />
      <div className={formClasses.answers}>
        <p className={tagClasses.fault} role="alert">
          {freeze.error === null ? '' : reasonOf(freeze.error)}
        </p>
        <Button onClick={onClose}>Cancel</Button>
        <Button
          type="submit"
          variant="filled"
          disabled={version === null}
          loading={freeze.isPending}
        >
          FREEZE
        </Button>
      </div>
    </form>
  );
}

function ShareFields(props: {
  values: FreezeValues;
  fault: string | null;
  set: (change: Partial<FreezeValues>) => void;
}): ReactNode {
  const { values, fault, set } = props;
  return (
    <fieldset className={classes.shares}>
      <legend>Split, in percent</legend>
      {(['train', 'validation', 'test'] as const).map((split) => (
        <TextInput
          key={split}
          label={split}
          inputMode="numeric"
          autoComplete="off"
          maxLength={3}
          error={fault !== null}
          aria-describedby="share-fault"
          value={values[split]}
          onChange={(event) => set({ [split]: event.currentTarget.value })}
        />
      ))}
      <p id="share-fault" className={fault === null ? tagClasses.muted : tagClasses.fault}>
        {fault ??
          'By a hash of the event id: the same event always falls into the same part. All empty: no split.'}
      </p>
    </fieldset>
  );
}
