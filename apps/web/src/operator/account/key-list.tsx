import { announce } from '../../announce.js';
import { dateText, dayText, numberText } from '../../format.js';
import { Fact } from '../../parts/fact.js';
import { Card, focusOn } from '../../parts/card.js';
import { Loaded } from '../../parts/loaded.js';
import { change } from '../../server.js';
import { ActButton } from '../act-button.js';
import { MoreButton } from '../more-button.js';
import type { Key } from '../server-types.js';
import { usePages } from '../use-pages.js';

interface KeyListProps {
  readonly path: string;
  readonly currency: string;
  readonly refused: () => void;
}

/** The keys of the account, without their secrets. */
export function KeyList({ path, currency, refused }: KeyListProps) {
  const keys = usePages<'keys', Key>(`${path}/keys`, 'keys');
  const revoked = async ({ name }: Key): Promise<void> => {
    await keys.reload();
    announce(`The key ${name} is revoked.`);
    focusOn('keys');
  };
  return (
    <Card id="keys" title="API keys">
      <Loaded data={keys} what="keys">
        {() =>
          keys.items.length === 0 ? (
            <p class="empty">The account has no keys.</p>
          ) : (
            <>
              <ul class="rows">
                {keys.items.map((key) => (
                  <KeyRow key={key.key_id} shown={key} currency={currency} revoked={revoked} refused={refused} />
                ))}
              </ul>
              <MoreButton pages={keys} what="keys" />
            </>
          )
        }
      </Loaded>
    </Card>
  );
}

interface KeyRowProps extends Omit<KeyListProps, 'path'> {
  readonly shown: Key;
  readonly revoked: (key: Key) => Promise<void>;
}

function KeyRow({ shown: key, currency, revoked, refused }: KeyRowProps) {
  return (
    <li class={key.revoked_at === undefined ? undefined : 'over'}>
      <div class="row-head">
        <h3>
          {key.name}
          {key.revoked_at === undefined ? null : <span class="badge">{`revoked ${dateText(key.revoked_at)}`}</span>}
        </h3>
        {key.revoked_at === undefined ? (
          <ActButton
            label="Revoke"
            fullLabel={`Revoke the key ${key.name}`}
            title={`Revoke the key “${key.name}”?`}
            consequence="Programs that use it are refused within seconds. This cannot be undone."
            doIt="Revoke the key"
            isDangerous
            act={() => change(`/operator/keys/${key.key_id}/revoke`)}
            done={() => revoked(key)}
            refused={refused}
          />
        ) : null}
      </div>
      <dl class="facts">
        <Fact name="Made" text={dateText(key.created_at)} />
        <Fact name="Last used" text={key.last_used_on === undefined ? 'never' : dayText(key.last_used_on)} />
        <Fact name="Expires" text={key.expires_at === undefined ? 'never' : dateText(key.expires_at)} />
        {key.monthly_cap === undefined ? null : (
          <Fact name="A month" text={`at most ${numberText(key.monthly_cap)} ${currency}`} />
        )}
        <Fact name="App" text={key.app_id} />
      </dl>
    </li>
  );
}
