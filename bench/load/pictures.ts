import { type Connection, connectionsTo, type Lane, type RequestKind, requestLane } from './requests.js';

/** Requests for pictures. Each ends when the picture has been received. */
export interface PictureKind {
  readonly request: RequestKind;
  /**
   * The place of the picture: in the response, as with OpenAI's Images API, or at a URL in the response to a create,
   * from which it is then fetched.
   */
  readonly picture: 'in answer' | 'at address';
  /** The only correct picture. */
  readonly base64: string;
}

interface ImagesAnswer {
  readonly data?: readonly { readonly b64_json?: string }[];
}

interface CreateAnswer {
  readonly data?: { readonly status?: string; readonly outputs?: readonly { readonly url: string }[] };
}

/** Opens this number of connections with one picture at a time. */
export async function pictureLanes(port: number, count: number, kind: PictureKind): Promise<Lane[]> {
  return (await connectionsTo(port, count)).map((connection): Lane => {
    const ask = requestLane(connection, kind.request);
    return async () => {
      const answer = await ask();
      const base64 =
        kind.picture === 'in answer'
          ? (JSON.parse(answer.body) as ImagesAnswer).data?.[0]?.b64_json
          : await fetchPicture(connection, JSON.parse(answer.body) as CreateAnswer);
      if (base64 !== kind.base64)
        throw new Error(`A picture was not delivered as it was made: ${answer.body.slice(0, 200)}`);
      return answer;
    };
  });
}

async function fetchPicture(connection: Connection, { data }: CreateAnswer): Promise<string | undefined> {
  const [output] = data?.outputs ?? [];
  if (data?.status !== 'succeeded' || output === undefined) return undefined;
  const { pathname, search } = new URL(output.url);
  const { status, body } = await connection.send(`GET ${pathname}${search} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
  return status === 200 ? Buffer.from(body, 'latin1').toString('base64') : undefined;
}
