# RabbitMQ with everything that it writes below $WORK, and its `epmd` beside it. $PLUGINS are its own, $CONFIG more lines of its configuration.
echo "[$PLUGINS]." >"$WORK/plugins"
printf 'listeners.tcp.1 = 127.0.0.1:%s\nlog.console.level = error\n%s\n' "${AMQP_PORT:-$PORT}" "$CONFIG" >"$WORK/rabbitmq.conf"
export HOME="$WORK" ERL_EPMD_PORT=$((PORT + 10)) ERL_EPMD_ADDRESS=127.0.0.1 RABBITMQ_DIST_PORT=$((PORT + 11)) RABBITMQ_ALLOW_INPUT=1
export RABBITMQ_NODENAME=implementations@localhost RABBITMQ_CONF_ENV_FILE=/dev/null RABBITMQ_CONFIG_FILE="$WORK/rabbitmq"
export RABBITMQ_MNESIA_BASE="$WORK/mnesia" RABBITMQ_LOG_BASE="$WORK/log" RABBITMQ_ENABLED_PLUGINS_FILE="$WORK/plugins" RABBITMQ_LOGS=-stderr
epmd -port "$ERL_EPMD_PORT" -address 127.0.0.1 &
exec /usr/lib/rabbitmq/bin/rabbitmq-server -noinput </dev/null
