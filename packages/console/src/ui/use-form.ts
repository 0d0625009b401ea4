import { useState } from 'react';
import { type Act, useAct } from './act.ts';
import { faultsOf } from './form.tsx';

/** The names of the fields that hold values of a type. */
type NameOf<Values, Value> = {
  [Name in keyof Values]: Values[Name] extends Value ? Name : never;
}[keyof Values] &
  string;

/** What a form holds, the call that sends it, and what the service refused by field, until the next change. */
export function useForm<Values extends object, Answer>(
  form: Pick<Act<Answer, void>, 'onDone' | 'hasSecret' | 'changes'> & {
    /** What it holds at first. */
    readonly first: Values | (() => Values);
    readonly call: (values: Values) => Promise<Answer>;
    /** What can be tried with the same values, and changes nothing. */
    readonly tries?: (values: Values) => Promise<unknown>;
    /** The fields, where the service also refuses what is none of `Values`. */
    readonly fields?: readonly string[];
    /** Members of the body that have another name in the form. */
    readonly renamed?: Readonly<Record<string, string>>;
  },
) {
  const { first, call, tries, fields, renamed, ...act } = form;
  const [values, setValues] = useState(first);
  const sending = useAct<Answer>({ ...act, call: () => call(values) });
  const trying = useAct({ call: async () => tries?.(values) });
  const error = sending.error ?? trying.error;
  const faults = faultsOf(error, fields ?? Object.keys(values), renamed);
  const set = (change: Partial<Values>) => {
    setValues((all) => ({ ...all, ...change }));
    for (const each of [sending, trying]) if (each.error !== null) each.reset();
  };
  /** For a field in which one of a few values is chosen. */
  const choice = (name: NameOf<Values, string>) => ({
    value: values[name] as string,
    error: faults[name],
    onChange: (event: { readonly currentTarget: { readonly value: string } }) =>
      set({ [name]: event.currentTarget.value } as Partial<Values>),
  });
  return {
    values,
    set,
    faults,
    /** For the form itself. */
    sent: { call: sending, onSend: () => sending.mutate(), fault: faults[''] },
    choice,
    /** For the button that tries it. */
    trial: {
      loading: trying.isPending,
      onClick: () => {
        sending.reset();
        trying.mutate();
      },
    },
    /** For a field in which something is typed. */
    text: (name: NameOf<Values, string>) => ({
      ...choice(name),
      autoComplete: 'off',
      spellCheck: false,
    }),
    /** For a box that is ticked. */
    box: (name: NameOf<Values, boolean>) => ({
      checked: values[name] as boolean,
      error: faults[name],
      onChange: (event: { readonly currentTarget: { readonly checked: boolean } }) =>
        set({ [name]: event.currentTarget.checked } as Partial<Values>),
    }),
  };
}

/** The fields of a form that are not as they were before. */
export function differing<Fields extends object>(before: Fields, after: Fields): Partial<Fields> {
  const old = new Map<string, unknown>(Object.entries(before));
  const changed = Object.entries(after).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(old.get(name)),
  );
  return Object.fromEntries(changed) as Partial<Fields>;
}
