import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { ApiError, isStepUp } from '../api/client.ts';
import { useIsStale } from './freshness.tsx';
import { reasonOf } from './outage.ts';

/** A form that makes one call: its fields, what is wrong with it, and the button that sends it. */
export function ActionForm(props: {
  label?: string;
  /** The call. While it is under way, the form is not sent again. */
  call: { readonly isPending: boolean };
  onSend: () => void;
  /** Whether it can be sent. */
  isReady?: boolean;
  /** What the button says that sends it; null leaves it out. */
  button: ReactNode;
  /** Whether it does what cannot be undone: not while the page may be old. */
  isGrave?: boolean;
  /** What is wrong that is about no field. It keeps its room; undefined where there is none for it. */
  fault?: string | undefined;
  /** Whether the fault is a line of its own, above the buttons. */
  isFaultAbove?: boolean;
  /** What stands before the button. */
  others?: ReactNode;
  children: ReactNode;
}): ReactNode {
  const { call, button, isGrave = false, fault, isFaultAbove = false } = props;
  const isStale = useIsStale();
  const isReady = props.isReady !== false && !(isGrave && isStale);
  return (
    <form
      className="stack gap-12"
      aria-label={props.label}
      onSubmit={(event) => {
        event.preventDefault();
        if (isReady && !call.isPending) props.onSend();
      }}
    >
      {props.children}
      {isFaultAbove && (
        <p className="form-fault" role="alert">
          {fault}
        </p>
      )}
      <div className="flex wrap end gap-8">
        {fault !== undefined && !isFaultAbove && (
          <p className="grow form-fault self-center" role="alert">
            {fault}
          </p>
        )}
        {props.others}
        {button !== null && (
          <Button
            type="submit"
            variant="filled"
            {...(isGrave && { color: 'red.9' })}
            disabled={!isReady}
            loading={call.isPending}
          >
            {button}
          </Button>
        )}
      </div>
    </form>
  );
}

/** Why a call failed, below its form; nothing when the person closed the question for the token. */
export function faultText(error: Error | null): string {
  return error === null || isStepUp(error) ? '' : reasonOf(error);
}

/** These codes name no field, but are about a URL. */
const urlCodes = [
  ...['target_invalid', 'target_blocked'],
  ...['export_target_refused', 'export_target_unusable'],
];

/**
 * What the service refuses, by the field of the form that it is about; `''` collects the rest. There is none when the
 * person closed the question for the token. `renamed` are members of the body that have another name in the form.
 */
export function faultsOf(
  error: Error | null,
  fields: readonly string[],
  renamed: Readonly<Record<string, string>> = {},
): Readonly<Partial<Record<string, string>>> {
  if (error === null || isStepUp(error)) return {};
  const byField: Record<string, string> = {};
  const add = (member: string, message: string) => {
    const field = renamed[member] ?? member;
    const name = fields.includes(field) ? field : '';
    byField[name] = [byField[name], message].filter(Boolean).join(' ');
  };
  if (error instanceof ApiError && error.errors.length > 0) {
    for (const { path, message } of error.errors) {
      const members = path.split('/').slice(1);
      // The fields of a part of the body are those of the form.
      const own = members.find((member) => fields.includes(renamed[member] ?? member));
      add(own ?? members[0] ?? '', message);
    }
  } else if (error instanceof ApiError && urlCodes.includes(error.code)) add('url', error.detail);
  else add('', reasonOf(error));
  return byField;
}
