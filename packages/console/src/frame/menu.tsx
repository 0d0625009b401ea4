import { Drawer } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './navigation.module.css';
import { Groups, Home } from './navigation.tsx';
import { ToolsList } from './tools.tsx';

/** The pages and tools, over a narrow page. */
export function Menu(props: { onClose: () => void; onViews: () => void }): ReactNode {
  const { onClose, onViews } = props;
  return (
    <Drawer
      opened
      onClose={onClose}
      size={288}
      padding={0}
      lockScroll={false}
      title={<Home />}
      classNames={{ content: classes.menu, header: classes.menuHead }}
      closeButtonProps={{ 'aria-label': 'Close the menu', size: 40, mr: 8 }}
    >
      <nav aria-label="Pages">
        <Groups onGo={onClose} />
      </nav>
      <ToolsList
        onViews={() => {
          onClose();
          onViews();
        }}
      />
    </Drawer>
  );
}
