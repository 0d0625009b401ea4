import {
  type QueryClient,
  type QueryKey,
  useMutation,
  useQueryClient,
} from '@tanstack/react-query';
import { isStepUp } from '../api/client.ts';
import { reasonOf } from './outage.ts';
import { notify } from './toasts.tsx';

/** A call that changes something. */
export type Act<Answer, Given> = {
  readonly call: (given: Given) => Promise<Answer>;
  readonly onDone?: (answer: Answer, given: Given) => unknown;
  /** How the message begins that tells of a failure; without it nothing is told. */
  readonly failed?: string | ((given: Given) => string);
  /** Whether the answer may hold a secret, which is shown this once: until it is there, its panel stays open. */
  readonly hasSecret?: boolean;
  /** The beginning of the query keys of what is read again, whatever came of it; or a function that does that. */
  readonly changes?:
    | QueryKey
    | ((client: QueryClient, given: Given, error: Error | null) => unknown);
};

/** What a deletion changes: all under `key` but the row itself, which is not there for its drawer to read again. */
export function changedBut(
  key: QueryKey,
  goneId: string | null,
): NonNullable<Act<unknown, unknown>['changes']> {
  return (client, _given, error) =>
    client.invalidateQueries({
      queryKey: key,
      predicate: ({ queryKey }) => error !== null || queryKey.at(-1) !== goneId,
    });
}

const secretKey = ['secret'] as const;

/** Closes a panel, unless a secret is awaited: it would be dropped without a word. */
export function useCloseWithSecret(onClose: () => void): () => void {
  const client = useQueryClient();
  return () => {
    if (client.isMutating({ mutationKey: secretKey }) === 0) onClose();
    else notify({ text: 'Not closed: the secret that is being made is shown this once.' });
  };
}

/** Makes a call that changes something, tells when it fails, and reads what it changes again. */
export function useAct<Answer, Given = void>(act: Act<Answer, Given>) {
  const { call, onDone, failed, hasSecret = false, changes } = act;
  const client = useQueryClient();
  return useMutation<Answer, Error, Given>({
    mutationFn: call,
    ...(hasSecret && { mutationKey: secretKey }),
    onSuccess: (answer, given) => onDone?.(answer, given),
    onError: (error, given) => {
      // Whoever closed the question for the token knows that nothing was done.
      if (failed === undefined || isStepUp(error)) return;
      const text = typeof failed === 'function' ? failed(given) : failed;
      notify({ text: `${text}. ${reasonOf(error)}` });
    },
    onSettled: (_answer, error, given) =>
      typeof changes === 'function'
        ? changes(client, given, error)
        : changes && client.invalidateQueries({ queryKey: changes }),
  });
}
