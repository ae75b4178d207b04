import { hasShortcuts, type Theme, theme } from '../frame/preferences.js';
import { ShortcutList } from '../frame/shortcut-list.js';
import { Segments } from '../parts/fields.js';
import { Card } from '../parts/parts.js';

const THEMES: readonly { readonly value: Theme; readonly text: string }[] = [
  { value: 'system', text: 'System' },
  { value: 'light', text: 'Light' },
  { value: 'dark', text: 'Dark' },
];

/** Choices that stay in this browser. */
export function Preferences() {
  return (
    <>
      <Card id="appearance" title="Appearance" note="In this browser.">
        <div class="setting">
          <p>Theme</p>
          <Segments
            label="Theme"
            options={THEMES}
            value={theme.value}
            changed={(chosen) => {
              theme.value = chosen;
            }}
          />
        </div>
      </Card>
      <Card id="shortcuts" title="Keyboard shortcuts" note="In this browser.">
        <label class="check">
          <input
            type="checkbox"
            checked={hasShortcuts.value}
            onChange={({ currentTarget }) => {
              hasShortcuts.value = currentTarget.checked;
            }}
          />
          <span>
            Single-key shortcuts
            <small>Keys without Ctrl or ⌘, such as /, while no field has the focus.</small>
          </span>
        </label>
        <ShortcutList />
      </Card>
    </>
  );
}
