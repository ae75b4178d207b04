import type { Shortcut } from './shortcuts.js';

/** Shortcuts with their keys. */
export function ShortcutList({ shortcuts }: { readonly shortcuts: readonly Shortcut[] }) {
  return (
    <dl class="keys-list">
      {shortcuts.map(({ keys, text }) => (
        <div key={text}>
          <dt class="row">
            {keys.map((key) => (
              <kbd key={key}>{key}</kbd>
            ))}
          </dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}
