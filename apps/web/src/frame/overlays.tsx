import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { announce } from '../parts/toasts.js';
import { isHelpOpen, isPaletteOpen } from './palette-state.js';
import { followShortcuts } from './shortcuts.js';

/** The shortcuts, and what opens over every page: loaded when it is first opened. */
export function Overlays() {
  const [Loaded, setLoaded] = useState<ComponentType>();
  const isWanted = isPaletteOpen.value || isHelpOpen.value;
  useEffect(followShortcuts, []);
  useEffect(() => {
    if (!isWanted || Loaded !== undefined) return;
    import('./palette.js').then(
      ({ Palette }) => setLoaded(() => Palette),
      () => {
        isPaletteOpen.value = false;
        isHelpOpen.value = false;
        announce('The palette could not be loaded. Reload the page.');
      },
    );
  }, [isWanted, Loaded]);
  return Loaded === undefined ? null : <Loaded />;
}
