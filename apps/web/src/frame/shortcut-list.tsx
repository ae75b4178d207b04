import { SHORTCUTS } from './shortcuts.js';

/** The shortcuts with their keys. */
export function ShortcutList() {
  return (
    <dl class="keys-list">
      {SHORTCUTS.map(({ keys, text }) => (
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
