import type { ComponentType } from 'preact';
import { useState, useEffect } from 'preact/hooks';
import { Fault, Page } from '../parts/parts.js';
import { focusOnTitle } from '../places.js';

/**
 * A component in a file of its own, which is loaded the first time that it is shown. With a title it is a page; without one a
 * part of a page, which takes no focus.
 */
export function lazy<P extends object>(load: () => Promise<ComponentType<P>>, title?: string): ComponentType<P> {
  let loaded: ComponentType<P> | undefined;
  return function Lazy(props: P) {
    const [Shown, setShown] = useState<ComponentType<P> | undefined>(() => loaded);
    const [isLost, setLost] = useState(false);
    useEffect(() => {
      if (loaded !== undefined) return;
      load().then(
        (found) => {
          loaded = found;
          setShown(() => found);
        },
        () => setLost(true),
      );
    }, []);
    useEffect(() => {
      if (Shown !== undefined && title !== undefined) focusOnTitle();
    }, [Shown]);
    if (Shown !== undefined) return <Shown {...props} />;
    const fault = isLost ? <Fault text="This part of the page could not be loaded. Reload the page." /> : null;
    return title === undefined ? fault : <Page title={title}>{fault}</Page>;
  };
}
