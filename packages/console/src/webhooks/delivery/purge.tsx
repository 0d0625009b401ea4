import { Button, Modal } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { api, isStepUp } from '../../api/client.ts';
import classes from '../../ui/lines.module.css';
import { reasonOf } from '../../ui/outage.ts';
import { notify } from '../../ui/toasts.tsx';
import { shortId } from '../../ui/words.ts';
import { deliveryPath, webhooksKey } from './use-delivery.ts';

/** Throws a delivery away, after a question; the access token is asked for by the call itself. */
export function PurgeButton({ id }: { id: string }): ReactNode {
  const client = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const purge = useMutation({
    mutationFn: () => api.delete(deliveryPath(id)),
    onSuccess: () => notify({ text: `Discarded ${shortId(id)}` }),
    onError: (error) => {
      if (!isStepUp(error)) notify({ text: `Not discarded: ${shortId(id)}. ${reasonOf(error)}` });
    },
    onSettled: () => client.invalidateQueries({ queryKey: webhooksKey }),
  });
  const go = () => {
    setAsking(false);
    purge.mutate();
  };
  return (
    <>
      <Button onClick={() => setAsking(true)} loading={purge.isPending} className={classes.danger}>
        PURGE …
      </Button>
      <Modal
        opened={isAsking}
        onClose={() => setAsking(false)}
        lockScroll={false}
        centered
        title={`Discard ${shortId(id)}?`}
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        <p className={classes.question}>
          It will never be delivered, and no retry brings it back. Its history stays.
        </p>
        <div className={classes.answers}>
          <Button onClick={() => setAsking(false)} data-autofocus>
            Keep it
          </Button>
          <Button color="red" variant="filled" onClick={go}>
            Discard
          </Button>
        </div>
      </Modal>
    </>
  );
}
