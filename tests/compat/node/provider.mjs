// An OpenID Connect provider (oidc-provider) with the users and clients of the test that starts it.
//
//     node provider.mjs '{"port": 1, "clients": [...], "users": {"ann": {"groups": ["admins"]}}}'
//
// A user's password is the name. The login page is a form without scripts; nobody is asked for consent. Keys are made at
// the start, so a restart rotates them.
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { Provider } from 'oidc-provider'

const { port, clients, users } = JSON.parse(process.argv[2])
const issuer = `http://localhost:${port}`
const key = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' })
const SCOPES = 'openid profile email groups'

function page(title, content) {
  return `<!doctype html><html lang="en"><title>${title}</title><h1>${title}</h1>${content}</html>`
}

const provider = new Provider(issuer, {
  clients,
  jwks: { keys: [{ ...key, kid: randomBytes(8).toString('hex'), use: 'sig', alg: 'RS256' }] },
  cookies: { keys: [randomBytes(16).toString('hex')] },
  claims: { openid: ['sub'], profile: ['preferred_username'], email: ['email'], groups: ['groups'] },
  pkce: { required: () => true },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...users[id] }) }),
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  async loadExistingGrant(ctx) {
    const { client, session } = ctx.oidc
    const grant = new ctx.oidc.provider.Grant({ clientId: client.clientId, accountId: session.accountId })
    grant.addOIDCScope(SCOPES)
    await grant.save()
    return grant
  },
  features: {
    devInteractions: { enabled: false },
    rpInitiatedLogout: {
      enabled: true,
      logoutSource(ctx, form) {
        const button = '<button form="op.logoutForm" name="logout" value="yes">Log out of the provider</button>'
        ctx.body = page('Provider', form + button)
      },
    },
  },
})

async function interaction(request, response) {
  if (request.method === 'GET') {
    await provider.interactionDetails(request, response)
    const fields = '<input name="name" aria-label="Name"><input name="password" type="password" aria-label="Password">'
    response.setHeader('content-type', 'text/html; charset=utf-8')
    response.end(page('Provider', `<form method="post">${fields}<button>Log in</button></form>`))
    return
  }
  let body = ''
  for await (const piece of request) body += piece
  const form = new URLSearchParams(body)
  const name = form.get('name')
  const result = name in users && form.get('password') === name
    ? { login: { accountId: name } }
    : { error: 'access_denied', error_description: 'wrong name or password' }
  await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false })
}

const answer = provider.callback()
createServer((request, response) => {
  if (!request.url.startsWith('/interaction/')) return answer(request, response)
  interaction(request, response).catch((error) => {
    console.error(error)
    response.statusCode = 500
    response.end()
  })
}).listen(port, '127.0.0.1', () => console.log('The provider is ready'))
