import { hasShortcuts, theme, THEMES } from '../frame/preferences.js';
import { ShortcutList, SHORTCUTS, SINGLE_KEYS } from '../frame/shortcuts.js';
import { Segments } from '../parts/fields.js';
import { Card } from '../parts/parts.js';

const OPTIONS = THEMES.map((value) => ({ value, text: value.replace(/^./, (first) => first.toUpperCase()) }));

/** Choices that stay in this browser. */
export function Preferences() {
  return (
    <>
      <Card id="appearance" title="Appearance" note="In this browser.">
        <div class="setting">
          <p>Theme</p>
          <Segments
            label="Theme"
            options={OPTIONS}
            value={theme.value}
            changed={(chosen) => {
              theme.value = chosen;
            }}
          />
        </div>
      </Card>
      <Card id="shortcuts" title="Keyboard shortcuts" note="In this browser.">
        <ShortcutList shortcuts={SHORTCUTS} />
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
            <small>While no field has the focus.</small>
          </span>
        </label>
        {hasShortcuts.value ? <ShortcutList shortcuts={SINGLE_KEYS} /> : null}
      </Card>
    </>
  );
}
