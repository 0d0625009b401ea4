import { Button, Modal } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { ExportJob } from '../../api/types.ts';
import { reasonOf } from '../../ui/outage.ts';
import { exportsKey } from '../../ui/poll.tsx';
import { notify } from '../../ui/toasts.tsx';
import { removeFile } from '../use-exports.ts';
import classes from './drawer.module.css';

/** Removes the file of a completed export before its time, after a question. */
export function RemoveFileButton({ job }: { job: ExportJob }): ReactNode {
  const client = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const remove = useMutation({
    mutationFn: () => removeFile(job.id),
    onSuccess: () => notify({ text: `Removed the file ${job.file_name}` }),
    onError: (error) => notify({ text: `Not removed: ${job.file_name}. ${reasonOf(error)}` }),
    onSettled: () => client.invalidateQueries({ queryKey: exportsKey }),
  });
  const go = () => {
    setAsking(false);
    remove.mutate();
  };
  return (
    <>
      <Button onClick={() => setAsking(true)} loading={remove.isPending} className={classes.danger}>
        REMOVE FILE …
      </Button>
      <Modal
        opened={isAsking}
        onClose={() => setAsking(false)}
        lockScroll={false}
        centered
        title="Remove this file?"
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        <p className={classes.question}>
          {job.file_name} can then not be downloaded any more. Its records, this entry and its
          manifest stay.
        </p>
        <div className={classes.answers}>
          <Button onClick={() => setAsking(false)} data-autofocus>
            Keep it
          </Button>
          <Button color="red.9" variant="filled" onClick={go}>
            Remove
          </Button>
        </div>
      </Modal>
    </>
  );
}
