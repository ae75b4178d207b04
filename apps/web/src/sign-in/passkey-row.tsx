import { useId, useState } from 'preact/hooks';
import { Fact } from '../parts/fact.js';
import { dateText, dayText } from '../format.js';
import { ConfirmButton } from '../parts/confirm-button.js';
import { change } from '../server.js';
import type { Passkey } from '../server-types.js';
import { NameForm } from './name-form.js';

interface PasskeyRowProps {
  readonly shown: Passkey;
  readonly rename: (name: string) => Promise<void>;
  /** After it was removed. */
  readonly removed: () => Promise<void>;
}

export function PasskeyRow({ shown, rename, removed }: PasskeyRowProps) {
  const [isRenaming, setRenaming] = useState(false);
  const id = useId();
  return (
    <li>
      <div class="row-head">
        <h3>{shown.name}</h3>
        <div class="actions">
          <button
            type="button"
            class="outline small secondary"
            aria-label={`Rename ${shown.name}`}
            aria-expanded={isRenaming}
            aria-controls={id}
            onClick={() => setRenaming(!isRenaming)}
          >
            Rename
          </button>
          <ConfirmButton
            label="Remove"
            fullLabel={`Remove ${shown.name}`}
            question={`Remove ${shown.name}?`}
            consequence="You can no longer sign in with it. Make sure that you have another way to sign in, and remove it from your device as well."
            doIt="Remove it"
            action={() => change('/passkeys/remove', { id: shown.id })}
            done={removed}
          />
        </div>
      </div>
      <dl class="facts">
        <Fact name="Added" text={dateText(shown.created_at)} />
        <Fact name="Last used" text={shown.last_used_on === null ? 'never' : dayText(shown.last_used_on)} />
      </dl>
      <div id={id}>
        {isRenaming ? (
          <NameForm
            label="New name"
            name={shown.name}
            doIt="Save"
            submit={async (name) => {
              await rename(name);
              setRenaming(false);
            }}
          />
        ) : null}
      </div>
    </li>
  );
}
