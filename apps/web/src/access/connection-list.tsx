import { announce } from '../announce.js';
import { dateText, dayText, numberText } from '../format.js';
import { Card, focusOn } from '../parts/card.js';
import { ConfirmButton } from '../parts/confirm-button.js';
import { Fact } from '../parts/fact.js';
import { Loaded } from '../parts/loaded.js';
import { change } from '../server.js';
import type { Connection } from '../server-types.js';
import { useData } from '../use-data.js';
import { scopesText } from './key-list.js';

/** The programs that the person has allowed to act for them. */
export function ConnectionList({ currency }: { readonly currency: string }) {
  const connections = useData<{ readonly connections: readonly Connection[] }>('/connections');
  const disconnected = async ({ client_name: name }: Connection): Promise<void> => {
    await connections.reload();
    announce(`${name} is disconnected.`);
    focusOn('connections');
  };
  return (
    <Card
      id="connections"
      title="Connected programs"
      note="Programs that you have allowed to act for you. Only you see these."
    >
      <Loaded data={connections} what="connected programs">
        {({ connections: shown }) =>
          shown.length === 0 ? (
            <p class="empty">
              No program is connected. One that knows the address of this service brings you here to ask.
            </p>
          ) : (
            <ul class="rows">
              {shown.map((connection) => (
                <ConnectionRow key={connection.id} shown={connection} currency={currency} disconnected={disconnected} />
              ))}
            </ul>
          )
        }
      </Loaded>
    </Card>
  );
}

interface ConnectionRowProps {
  readonly shown: Connection;
  readonly currency: string;
  readonly disconnected: (connection: Connection) => Promise<void>;
}

function ConnectionRow({ shown, currency, disconnected }: ConnectionRowProps) {
  const { client_name: name, client_host: host, cap, used } = shown;
  const usedText =
    cap === null ? 'no limit but the balance' : `${numberText(used ?? 0)} of ${numberText(cap)} ${currency}`;
  return (
    <li>
      <div class="row-head">
        <h3>
          {name}
          {host === null ? null : <span class="badge">{host}</span>}
        </h3>
        <ConfirmButton
          label="Disconnect"
          fullLabel={`Disconnect ${name}`}
          question={`Disconnect “${name}”?`}
          consequence="It is refused within seconds, and has to ask you again. What it made stays in the account."
          doIt="Disconnect it"
          action={() => change(`/connections/${shown.id}/disconnect`)}
          done={() => disconnected(shown)}
        />
      </div>
      <dl class="facts">
        <Fact name="Uses" text={shown.audience === 'mcp' ? 'the tools (MCP)' : 'the API'} />
        <Fact name="Connected" text={dateText(shown.created_at)} />
        <Fact name="Last used" text={shown.last_used_on === null ? 'never' : dayText(shown.last_used_on)} />
        <Fact name="Spent" text={usedText} />
        <Fact name="May" text={scopesText(shown.scopes)} />
      </dl>
    </li>
  );
}
