import { Button, Modal } from '@mantine/core';
import type { ReactNode } from 'react';
import type { EndpointWithSecret } from '../../api/types.ts';
import { CopyButton } from '../../ui/copy-button.tsx';
import classes from '../form.module.css';

/** The secret of an endpoint, the only time it is ever seen: no stray click closes it. */
export function SecretDialog(props: {
  endpoint: EndpointWithSecret | null;
  onClose: () => void;
}): ReactNode {
  const { endpoint, onClose } = props;
  return (
    <Modal
      opened={endpoint !== null}
      onClose={onClose}
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
      lockScroll={false}
      centered
      size={520}
      title="The secret of the endpoint"
    >
      {endpoint !== null && (
        <>
          <p className={classes.filterText}>
            Its receiver checks signatures with it. It shows this once: keep it now.
          </p>
          <div className={classes.secret}>
            <code>{endpoint.secret}</code>
            <CopyButton value={endpoint.secret} label="Copy the secret" />
          </div>
          <div className={classes.answers}>
            <Button variant="filled" onClick={onClose}>
              I have kept it
            </Button>
          </div>
        </>
      )}
    </Modal>
  );
}
