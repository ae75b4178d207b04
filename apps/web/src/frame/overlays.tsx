import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { asked } from '../parts/ask.js';
import { announce } from '../parts/toasts.js';
import { followShortcuts, isHelpOpen, isPaletteOpen } from './shortcuts.js';

/** The shortcuts, and what opens over every page: loaded when it is first opened. */
export function Overlays() {
  const [Loaded, setLoaded] = useState<ComponentType>();
  const isWanted = isPaletteOpen.value || isHelpOpen.value || asked.value !== undefined;
  useEffect(followShortcuts, []);
  useEffect(() => {
    if (!isWanted || Loaded !== undefined) return;
    import('../later-pages.js').then(
      ({ Opened }) => setLoaded(() => Opened),
      () => {
        isPaletteOpen.value = false;
        isHelpOpen.value = false;
        asked.value = undefined;
        announce('This part of the page could not be loaded. Reload the page.');
      },
    );
  }, [isWanted, Loaded]);
  return Loaded === undefined ? null : <Loaded />;
}
