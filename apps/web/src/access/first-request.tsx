import { Card } from '../parts/card.js';
import { Copyable } from '../parts/copyable.js';

interface FirstRequestProps {
  readonly baseUrl: string;
  readonly body: object;
}

/** A request that works once the key is put into it. */
export function FirstRequest({ baseUrl, body }: FirstRequestProps) {
  const request = [
    `curl ${baseUrl}/api/v1/developer/generations \\`,
    '  -H "Authorization: Bearer $DARKROOM_API_KEY" \\',
    '  -H "Idempotency-Key: $(date +%s)" \\',
    '  -H "Content-Type: application/json" \\',
    `  -d '${JSON.stringify(body).replaceAll("'", String.raw`'\''`)}'`,
  ].join('\n');
  return (
    <Card
      id="first-request"
      title="A first request"
      note="Put the secret of a key into DARKROOM_API_KEY. The answer has an id to ask for the picture with."
    >
      <Copyable text={request} what="the request" />
      <p>
        <a href="/docs">All requests are in the API reference</a>
      </p>
    </Card>
  );
}
