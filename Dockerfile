# Builds the program with its compiler, and keeps only what runs.
FROM node:24-bookworm-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends python3 make g++
WORKDIR /src
COPY . .
RUN npm ci --no-audit --no-fund && npm run build && npm prune --omit=dev --no-audit --no-fund
RUN rm -rf node_modules/better-sqlite3*/deps node_modules/better-sqlite3/build/Release/obj*

FROM node:24-bookworm-slim
COPY --from=build /src/package.json /src/LICENSE /app/
COPY --from=build /src/node_modules /app/node_modules
COPY --from=build /src/dist /app/dist
RUN install -d -o node -g node -m 0700 /data
ENV NODE_ENV=production
# Each thread would have an arena of malloc's of its own, which keeps what it once took: 120 MB more within minutes.
ENV MALLOC_ARENA_MAX=2
# Else malloc keeps blocks of up to 32 MB for itself once it has freed one: 60 MB more after a large document.
ENV MALLOC_MMAP_THRESHOLD_=131072
ENV CLEW_STORE_PATH=/data/index.db
# Other machines can reach the server, so it wants SERVICE_API_KEY.
ENV CLEW_SERVER_HOST=0.0.0.0
USER node
WORKDIR /data
VOLUME /data
EXPOSE 8484
HEALTHCHECK --interval=30s --timeout=3s --start-period=10s CMD ["node", "-e", "fetch('http://127.0.0.1:'+(process.env.CLEW_SERVER_PORT??8484)+'/health').then(r=>process.exit(r.ok?0:1),()=>process.exit(1))"]
ENTRYPOINT ["node", "/app/dist/bin.js"]
CMD ["serve"]
